/*
 * A program on a terminal gets its far end; the near one is open in the process that the starter works for, which alone reads and
 * writes it. It is taken from there for a moment to unlock it and to set its size.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/termios.h>
#include <linux/termios.h>

#include "starter.h"

static int take_near_end(int number) { return (int)sys(pidfd_getfd, starter.client, number, 0); }

static long set_size(int terminal, unsigned columns, unsigned rows) {
  struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  return sys(ioctl, terminal, TIOCSWINSZ, &size);
}

/* The modes of a new terminal as most programs that open one set them. */
static const struct termios modes = {
    .c_iflag = ICRNL | IXON | IXANY | IMAXBEL | IUTF8 | BRKINT,
    .c_oflag = OPOST | ONLCR,
    .c_cflag = B38400 | CS8 | CREAD | HUPCL,
    .c_lflag = ICANON | ISIG | IEXTEN | ECHO | ECHOE | ECHOK | ECHOKE | ECHOCTL,
    .c_cc = {[VINTR] = 3, [VQUIT] = 28, [VERASE] = 127, [VKILL] = 21, [VEOF] = 4, [VTIME] = 0, [VMIN] = 1, [VSWTC] = 0,
             [VSTART] = 17, [VSTOP] = 19, [VSUSP] = 26, [VEOL] = 255, [VREPRINT] = 18, [VDISCARD] = 15, [VWERASE] = 23,
             [VLNEXT] = 22, [VEOL2] = 255},
};

static long open_far_end(int near, const struct request *request) {
  uint64_t columns, rows;
  int unlocked = 0;
  if (!parse_number(request->terminal.words[1], 65535, &columns)) return -EINVAL;
  if (!parse_number(request->terminal.words[2], 65535, &rows)) return -EINVAL;
  long result = sys(ioctl, near, TIOCSPTLCK, &unlocked);
  if (result < 0) return result;
  int far = (int)sys(ioctl, near, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (far < 0) return far;
  result = sys(ioctl, far, TCSETS, &modes);
  if (result >= 0) result = set_size(far, (unsigned)columns, (unsigned)rows);
  if (result >= 0) result = sys(fchown, far, request->first, request->first);
  if (result >= 0) return far;
  close_file(far);
  return result;
}

/* Opens the far end for a new program; a negative error number where that cannot be. */
int far_end(const struct request *request) {
  uint64_t number;
  if (request->terminal.count != 3 || !parse_number(request->terminal.words[0], INT32_MAX, &number)) return -EINVAL;
  int near = take_near_end((int)number);
  if (near < 0) return near;
  long far = open_far_end(near, request);
  close_file(near);
  return (int)far;
}

void resize_terminal(int near_end, unsigned columns, unsigned rows) {
  int near = take_near_end(near_end);
  if (near < 0) return;
  set_size(near, columns, rows);
  close_file(near);
}
