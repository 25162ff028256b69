#include "text.h"

#include <asm/mman.h>
#include <linux/mman.h>

#ifndef HOSTED
/* The compiler calls these by itself. */
void *memcpy(void *to, const void *from, size_t count) {
  char *target = to;
  const char *source = from;
  for (size_t i = 0; i < count; i++) target[i] = source[i];
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  char *target = to;
  const char *source = from;
  if (target < source) return memcpy(to, from, count);
  for (size_t i = count; i > 0; i--) target[i - 1] = source[i - 1];
  return to;
}

void *memset(void *at, int byte, size_t count) {
  char *target = at;
  for (size_t i = 0; i < count; i++) target[i] = (char)byte;
  return at;
}
#endif

size_t length_of(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

bool equals(const char *a, const char *b) {
  while (*a != 0 && *a == *b) a++, b++;
  return *a == *b;
}

bool starts_with(const char *text, const char *beginning) {
  while (*beginning != 0 && *text == *beginning) text++, beginning++;
  return *beginning == 0;
}

const char *find_char(const char *text, char wanted) {
  for (; *text != 0; text++)
    if (*text == wanted) return text;
  return NULL;
}

bool parse_number(const char *text, uint64_t most, uint64_t *number) {
  uint64_t sum = 0;
  if (*text == 0) return false;
  for (; *text != 0; text++) {
    if (*text < '0' || *text > '9') return false;
    uint64_t digit = (uint64_t)(*text - '0');
    if (sum > (most - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *number = sum;
  return sum <= most;
}

char *put_number(char *at, uint64_t number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  while (count > 0) *at++ = digits[--count];
  return at;
}

char *put_text(char *at, const char *end, const char *text) {
  while (*text != 0 && at < end) *at++ = *text++;
  return at;
}

void *new_memory(size_t bytes) {
  long at = sys(mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at < 0 && at > -4096 ? NULL : (void *)at;
}

void *grow_memory(void *memory, size_t from, size_t to) {
  long at = sys(mremap, memory, from, to, MREMAP_MAYMOVE);
  return at < 0 && at > -4096 ? NULL : (void *)at;
}

/* As the C library words them: those of a full machine are recognized by their words. */
static const char *const messages[] = {
    [EPERM] = "Operation not permitted",
    [ENOENT] = "No such file or directory",
    [ESRCH] = "No such process",
    [EINTR] = "Interrupted system call",
    [EIO] = "Input/output error",
    [ENXIO] = "No such device or address",
    [E2BIG] = "Argument list too long",
    [ENOEXEC] = "Exec format error",
    [EBADF] = "Bad file descriptor",
    [ECHILD] = "No child processes",
    [EAGAIN] = "Resource temporarily unavailable",
    [ENOMEM] = "Cannot allocate memory",
    [EACCES] = "Permission denied",
    [EFAULT] = "Bad address",
    [EBUSY] = "Device or resource busy",
    [EEXIST] = "File exists",
    [EXDEV] = "Invalid cross-device link",
    [ENODEV] = "No such device",
    [ENOTDIR] = "Not a directory",
    [EISDIR] = "Is a directory",
    [EINVAL] = "Invalid argument",
    [ENFILE] = "Too many open files in system",
    [EMFILE] = "Too many open files",
    [ENOTTY] = "Inappropriate ioctl for device",
    [ETXTBSY] = "Text file busy",
    [EFBIG] = "File too large",
    [ENOSPC] = "No space left on device",
    [EROFS] = "Read-only file system",
    [EMLINK] = "Too many links",
    [EPIPE] = "Broken pipe",
    [ENAMETOOLONG] = "File name too long",
    [ENOSYS] = "Function not implemented",
    [ENOTEMPTY] = "Directory not empty",
    [ELOOP] = "Too many levels of symbolic links",
    [ELIBBAD] = "Accessing a corrupted shared library",
    [EUSERS] = "Too many users",
    [EOPNOTSUPP] = "Operation not supported",
    [ESTALE] = "Stale file handle",
    [EDQUOT] = "Disk quota exceeded",
};

const char *error_text(long error) {
  static char unknown[32] = "error ";
  size_t number = (size_t)(error < 0 ? -error : error);
  if (number < sizeof messages / sizeof *messages && messages[number]) return messages[number];
  *put_number(unknown + 6, number) = 0;
  return unknown;
}
