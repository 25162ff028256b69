/* Words, numbers and the kernel's error messages. */
#pragma once
#include "system.h"

size_t length_of(const char *text);
bool equals(const char *a, const char *b);
bool starts_with(const char *text, const char *beginning);
const char *find_char(const char *text, char wanted);
/* False unless all of the text is a number up to `most`. */
bool parse_number(const char *text, uint64_t most, uint64_t *number);
/* Writes a number and returns what is behind it. Takes up to 20 bytes. */
char *put_number(char *at, uint64_t number);
/* Copies as much of a text as there is room for, without its NUL, and returns what is behind it. */
char *put_text(char *at, const char *end, const char *text);
const char *error_text(long error);

/* Zeroed memory of its own; null where there is none. */
void *new_memory(size_t bytes);
/* The same memory with more room, perhaps elsewhere; null where there is none. */
void *grow_memory(void *memory, size_t from, size_t to);

void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *at, int byte, size_t count);
