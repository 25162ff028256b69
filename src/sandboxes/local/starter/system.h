/* Calls of the kernel without a C library. Each returns a negative error number when it fails. */
#pragma once
#include <asm/errno.h>
#include <asm/fcntl.h>
#include <asm/signal.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline long call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "only x64 and arm64"
#endif
}

/* sys(name, up to six arguments) */
#define sys(name, ...) SYS_SIX(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define SYS_SIX(number, a, b, c, d, e, f, ...) \
  call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#define AT_FDCWD -100
#define AT_EMPTY_PATH 0x1000
#define AT_RECURSIVE 0x8000
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_REMOVEDIR 0x200
#define IS_DIR(mode) (((mode) & 0170000) == 0040000)

static inline int open_file(const char *path, int flags) {
  return (int)sys(openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
}
static inline void close_file(int fd) {
  if (fd >= 0) sys(close, fd);
}
static inline long close_from(unsigned first, unsigned flags) { return sys(close_range, first, ~0U, flags); }
static inline int fork_process(void) { return (int)sys(clone, SIGCHLD); }
static inline void end_process(int code) { for (;;) sys(exit_group, code); }
