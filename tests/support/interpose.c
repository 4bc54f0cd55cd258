// SPDX-License-Identifier: GPL-3.0-or-later
// Preloaded into a tool (LD_PRELOAD), this stands between it and the C library, to let happen at will what
// seldom happens:
//
//   APSYN_THREADS=N           no more than N threads can be started
//   APSYN_STOP=SIGNAL,N,TEXT  SIGNAL (a number) arrives at the Nth call that opens, makes, syncs or renames a
//   path with TEXT
//                             in it; a negative N: after that call
//   APSYN_FREE=BYTES          the free space that file systems say they have
//   APSYN_LOSE=1              closing standard output tells that what was written is lost, as network disks
//   do
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int wanted_call(const char* path) {
  static atomic_int calls;
  const char* stop = getenv("APSYN_STOP");
  if (stop == NULL || path == NULL) return 0;
  const char* number = strchr(stop, ',');
  const char* text = number == NULL ? NULL : strchr(number + 1, ',');
  if (text == NULL || strstr(path, text + 1) == NULL) return 0;
  const int wanted = atoi(number + 1), call = ++calls;
  return call == abs(wanted) ? (wanted < 0 ? -1 : 1) : 0;
}

// The signal reaches whichever thread waits for it, which gets the time to act.
static void stop(void) {
  const int error = errno;
  kill(getpid(), atoi(getenv("APSYN_STOP")));
  const struct timespec while_it_acts = {0, 300000000};
  nanosleep(&while_it_acts, NULL);
  errno = error;
}

#define AROUND(path, call)            \
  const int when = wanted_call(path); \
  if (when > 0) stop();               \
  const int result = (call);          \
  if (when < 0) stop();               \
  return result

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                 \
  int name(const char* path, int flags, ...) {     \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    AROUND(path, NEXT(name)(path, flags, mode));   \
  }
OPEN(open)
OPEN(open64)

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  AROUND(path, NEXT(openat)(folder, path, flags, mode));
}

int mkdir(const char* path, mode_t mode) {
  AROUND(path, NEXT(mkdir)(path, mode));
}
int rename(const char* from, const char* to) {
  AROUND(from, NEXT(rename)(from, to));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  AROUND(from, NEXT(renameat2)(from_folder, from, to_folder, to, flags));
}
int fsync(int fd) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  path[n < 0 ? 0 : n] = 0;
  AROUND(path, NEXT(fsync)(fd));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  static atomic_int started;
  const char* most = getenv("APSYN_THREADS");
  if (most != NULL && started++ >= atoi(most)) return EAGAIN;
  return NEXT(pthread_create)(thread, attributes, start, argument);
}

int statvfs(const char* path, struct statvfs* space) {
  const int result = NEXT(statvfs)(path, space);
  const char* bytes = getenv("APSYN_FREE");
  if (result == 0 && bytes != NULL) {
    space->f_frsize = space->f_bsize = 1;
    space->f_bavail = space->f_bfree = strtoull(bytes, NULL, 10);
  }
  return result;
}

int close(int fd) {
  struct stat closed, standard;
  const int lost = getenv("APSYN_LOSE") != NULL && fstat(fd, &closed) == 0 &&
                   fstat(STDOUT_FILENO, &standard) == 0 && closed.st_dev == standard.st_dev &&
                   closed.st_ino == standard.st_ino;
  const int result = NEXT(close)(fd);
  if (!lost) return result;
  errno = EDQUOT;
  return -1;
}
