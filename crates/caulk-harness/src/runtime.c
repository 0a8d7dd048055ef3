/* What every harness of Caulk has in common: it reads a plan, makes the memory that the plan describes, calls the function once, and asks
 * LeakSanitizer what was lost. Nothing here is allocated with malloc(), so nothing of the harness can be reported.
 *
 * usage: harness PLAN
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

int __lsan_do_recoverable_leak_check(void);
void __lsan_register_root_region(const void *, size_t);
int __sanitizer_get_ownership(const volatile void *);
size_t __sanitizer_get_allocated_size(const volatile void *);

#define ARENA_BYTES ((size_t)192 << 20)
#define MAX_BLOCKS 20000
#define MAX_RESULTS 512
#define MAX_ARGUMENTS 32
#define MAX_UNMADE 1024
#define MAX_WRITES 512
#define REGISTER_ARGUMENTS 6
#define MAX_SEEN_ARGUMENTS 32
/* Words of the frame in which registers are kept, and where the caller's arguments on the stack begin. */
#define STACK_ARGUMENTS (24 + 2)
#define STUB_BYTES 256
#define MAX_SEEN 8192
#define PLAN_BYTES ((size_t)8 << 20)
#define BLOCK_GAP 64
#define FRESH_BYTES 4096
/* Addresses are noted under a mask: a plain one would keep the block reachable. */
#define MASK 0x5aa55aa55aa55aa5ul

/* What the generated part defines. */
extern const unsigned caulk_variable_count;
void *caulk_variable(unsigned);
extern const unsigned caulk_stub_count;
extern const char *const caulk_stub_names[];
extern unsigned caulk_stub_calls[], caulk_stub_uses[];
extern const char caulk_stub_kinds[], caulk_stub_counts[], caulk_stub_known[];
/* Where the function begins and ends, if its calls can be decided one by one. */
extern char caulk_target_begin[] __attribute__((weak)), caulk_target_end[] __attribute__((weak));
/* Which places of the function were reached, a byte each; the assembly of the function has them. */
extern unsigned char caulk_reached[] __attribute__((weak));
extern const unsigned caulk_reached_count __attribute__((weak));
long caulk_invoke(void);

long caulk_arguments[MAX_ARGUMENTS];
int caulk_is_running;

static char *arena, *arena_next;
/* Where the frames of the function begin. */
static char *stack_top;
static char *blocks[MAX_BLOCKS];
/* Their sizes, and which of them the program has freed. They rise in address as they do in number. */
static size_t block_sizes[MAX_BLOCKS];
static unsigned char block_freed[MAX_BLOCKS];
static unsigned block_count;
static struct { unsigned stub, call; long value; int is_used; } results[MAX_RESULTS];
static unsigned result_count;
static unsigned unmade[MAX_UNMADE], unmade_count;
static struct { unsigned stub, argument; long offset, bytes, value; } writes[MAX_WRITES];
static unsigned write_count;
static struct { unsigned stub, argument; long value; } fills[MAX_WRITES];
static unsigned fill_count;
/* The call of the function that was made last, from 1. */
static unsigned last_call;
static long stub_number;
static int stub_pointer;
/* Whether any of the two was asked for. */
static int is_default_used;
static unsigned failing, allocations;
static int failure_errno = EIO;
static struct { unsigned stub; unsigned long block; } seen[MAX_SEEN];
static unsigned seen_count;
static long kept_result;
static char plan_text[PLAN_BYTES];

/* Ends the process, past the wrapper of _exit(). */
__attribute__((noreturn)) static void leave(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

static void say(const char *format, ...);

#define REACHED_DIGITS 100

/* The places that were reached, four in each digit. */
static void say_reached(void)
{
	unsigned count = caulk_reached && &caulk_reached_count ? caulk_reached_count : 0;
	for (unsigned from = 0; from < count; from += REACHED_DIGITS * 4) {
		char digits[REACHED_DIGITS + 1] = { 0 };
		for (unsigned i = 0; i < REACHED_DIGITS && from + i * 4 < count; i++) {
			unsigned digit = 0;
			for (unsigned bit = 0; bit < 4 && from + i * 4 + bit < count; bit++)
				digit |= (caulk_reached[from + i * 4 + bit] != 0) << bit;
			digits[i] = "0123456789abcdef"[digit];
		}
		say("caulk: reached %u %s\n", from, digits);
	}
}

/* Said of every run that ends by itself. */
static void say_progress(void)
{
	if (is_default_used)
		say("caulk: defaults 1\n");
	say_reached();
}

static void say(const char *format, ...)
{
	static char line[512];
	va_list list;
	va_start(list, format);
	int length = vsnprintf(line, sizeof line, format, list);
	va_end(list);
	if (length > (int)sizeof line)
		length = sizeof line;
	if (write(2, line, length) < 0)
		leave(73);
}

static char *new_block(size_t size)
{
	size_t whole = (size + BLOCK_GAP + 15) & ~(size_t)15;
	if (whole > (size_t)(arena + ARENA_BYTES - arena_next)) {
		say("caulk: exhausted\n");
		leave(74);
	}
	char *block = arena_next;
	arena_next += whole;
	return block;
}

/* What a function pointer of the plan leads to. */
static long nothing(void)
{
	is_default_used = 1;
	return stub_number;
}

/* --- the plan ------------------------------------------------------------------------------------------------------------- */

static const char *at;

static int is_at(const char *word)
{
	size_t length = strlen(word);
	if (strncmp(at, word, length) != 0 || at[length] != ' ')
		return 0;
	at += length;
	return 1;
}

static long number(void)
{
	char *end;
	long value = (long)strtoull(at, &end, 0);
	if (end == at) {
		say("caulk: bad plan\n");
		leave(75);
	}
	at = end;
	return value;
}

static long value(void)
{
	while (*at == ' ')
		at++;
	if (*at == '@') {
		at++;
		long which = number(), offset = 0;
		if (*at == '+') {
			at++;
			offset = number();
		}
		return which >= 0 && which < MAX_BLOCKS ? (long)blocks[which] + offset : 0;
	}
	if (*at == '!') {
		at++;
		return (long)nothing;
	}
	return number();
}

static void put(char *place, long bytes, long what)
{
	if (place && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8))
		memcpy(place, &what, bytes);
}

static void read_line(void)
{
	if (is_at("block")) {
		long which = number(), size = number();
		if (which == block_count && which < MAX_BLOCKS) {
			blocks[which] = new_block(size);
			block_sizes[which] = size;
			block_count++;
		}
	} else if (is_at("set")) {
		long which = number(), offset = number(), bytes = number();
		put(which >= 0 && which < MAX_BLOCKS && blocks[which] ? blocks[which] + offset : NULL, bytes, value());
	} else if (is_at("variable")) {
		long which = number(), offset = number(), bytes = number();
		char *variable = which >= 0 && which < (long)caulk_variable_count ? caulk_variable(which) : NULL;
		put(variable ? variable + offset : NULL, bytes, value());
	} else if (is_at("argument")) {
		long which = number(), what = value();
		if (which >= 0 && which < MAX_ARGUMENTS)
			caulk_arguments[which] = what;
	} else if (is_at("result")) {
		long stub = number(), call = number(), what = value();
		if (result_count < MAX_RESULTS) {
			results[result_count].stub = stub;
			results[result_count].call = call;
			results[result_count++].value = what;
		}
	} else if (is_at("unmade")) {
		long stub = number();
		if (unmade_count < MAX_UNMADE)
			unmade[unmade_count++] = stub;
	} else if (is_at("write")) {
		long stub = number(), argument = number(), offset = number(), bytes = number();
		long what = value();
		if (write_count < MAX_WRITES && argument >= 0 && argument < REGISTER_ARGUMENTS) {
			writes[write_count].stub = stub;
			writes[write_count].argument = argument;
			writes[write_count].offset = offset;
			writes[write_count].bytes = bytes;
			writes[write_count++].value = what;
		}
	} else if (is_at("fill")) {
		long stub = number(), argument = number();
		long what = value();
		if (fill_count < MAX_WRITES && argument >= 0 && argument < REGISTER_ARGUMENTS) {
			fills[fill_count].stub = stub;
			fills[fill_count].argument = argument;
			fills[fill_count++].value = what;
		}
	} else if (is_at("numbers")) {
		stub_number = number();
	} else if (is_at("pointers")) {
		stub_pointer = number();
	} else if (is_at("errno")) {
		failure_errno = number();
	} else if (is_at("fail")) {
		failing = number();
	}
}

static void read_plan(const char *path)
{
	int file = open(path, O_RDONLY);
	size_t length = 0;
	ssize_t got;
	while (file >= 0 && length < PLAN_BYTES - 1 && (got = read(file, plan_text + length, PLAN_BYTES - 1 - length)) > 0)
		length += got;
	if (file < 0) {
		say("caulk: no plan\n");
		leave(75);
	}
	close(file);
	for (at = plan_text; *at; ) {
		const char *line = at;
		read_line();
		at = strchr(line, '\n');
		if (!at)
			break;
		at++;
	}
	memset(plan_text, 0, length);
}

/* --- stubs ---------------------------------------------------------------------------------------------------------------- */

/* Notes the heap blocks that can be reached from what a stub is given: the function that it stands for might take or free them. */
void caulk_note_reachable(unsigned stub, long word, int depth)
{
	const volatile void *pointer = (const volatile void *)word;
	if (word < 4096 || seen_count >= MAX_SEEN || depth > 6)
		return;
	size_t size;
	const char *begin = (const char *)word;
	if (__sanitizer_get_ownership(pointer)) {
		for (unsigned i = 0; i < seen_count; i++)
			if (seen[i].stub == stub && seen[i].block == ((unsigned long)word ^ MASK))
				return;
		seen[seen_count].stub = stub;
		seen[seen_count++].block = (unsigned long)word ^ MASK;
		size = __sanitizer_get_allocated_size(pointer);
	} else if (begin >= arena && begin < arena_next) {
		size = (size_t)(arena_next - begin) < 512 ? (size_t)(arena_next - begin) : 512;
		if (depth > 2)
			return;
	} else if (begin >= (char *)__builtin_frame_address(0) && begin < stack_top) {
		/* A structure of unknown size in a frame: variables beside it may be taken for a part of it. */
		size = (size_t)(stack_top - begin) < 512 ? (size_t)(stack_top - begin) : 512;
		if (depth > 0)
			return;
	} else {
		return;
	}
	if (size > 4096)
		size = 4096;
	for (size_t i = 0; i + sizeof(long) <= size; i += sizeof(long)) {
		long inner;
		memcpy(&inner, begin + i, sizeof inner);
		caulk_note_reachable(stub, inner, depth + 1);
	}
}

/* Whether the plan says what this call returns. */
int caulk_scripted(unsigned stub, long *result)
{
	unsigned call = ++caulk_stub_calls[stub];
	for (unsigned i = 0; caulk_is_running && i < result_count; i++)
		if (results[i].stub == stub && (results[i].call == call || results[i].call == 0)) {
			*result = results[i].value;
			caulk_stub_uses[stub]++;
			if (*result == -1)
				errno = failure_errno;
			return 1;
		}
	return 0;
}

int caulk_is_own(long);
static long copied(long, size_t);

/* The program has freed a block of the plan. */
void caulk_note_freed(long pointer)
{
	unsigned low = 0, high = block_count;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if ((long)blocks[middle] < pointer)
			low = middle + 1;
		else
			high = middle;
	}
	if (caulk_is_running && low < block_count && (long)blocks[low] == pointer)
		block_freed[low] = 1;
}

/* What was freed holds nothing: what only it led to is lost. */
static void forget_freed(void)
{
	for (unsigned i = 0; i < block_count; i++)
		if (block_freed[i])
			memset(blocks[i], 0, block_sizes[i]);
}

/* Memory that the caller must free. */
static long fresh_block(void)
{
	void *fresh = malloc(STUB_BYTES);
	if (fresh)
		memset(fresh, 0, STUB_BYTES);
	return (long)fresh;
}

/* A function without a body. `kind`: 'n' returns a number, 'p' a pointer, 'a' fresh memory that the caller must free. */
long caulk_stub(unsigned stub, char kind, int is_known, const long *arguments, int count)
{
	long result;
	if (caulk_is_running && !is_known)
		for (int i = 0; i < count; i++)
			caulk_note_reachable(stub, arguments[i], 0);
	if (caulk_scripted(stub, &result)) {
		/* Memory of the caller's own that begins as the plan says. */
		if (kind == 'a' && caulk_is_own(result))
			return copied(result, FRESH_BYTES);
		return result;
	}
	caulk_stub_uses[stub]++;
	if (kind == 'a')
		return fresh_block();
	is_default_used = 1;
	if (kind == 'p')
		return stub_pointer ? (long)new_block(FRESH_BYTES) : 0;
	return stub_number;
}

/* A call of the function: whether it is not made. Then the first word is what it returns. `words` are the registers with arguments. */
long caulk_site(unsigned stub, long *words)
{
	int is_made = 1;
	if (!caulk_is_running)
		return 0;
	for (unsigned i = 0; i < unmade_count; i++)
		if (unmade[i] == stub)
			is_made = 0;
	if (is_made) {
		last_call = stub + 1;
		return 0;
	}
	long all[MAX_SEEN_ARGUMENTS];
	int count = caulk_stub_counts[stub] - '0';
	for (int i = 0; i < count && i < MAX_SEEN_ARGUMENTS; i++)
		all[i] = i < REGISTER_ARGUMENTS ? words[i] : words[STACK_ARGUMENTS + i - REGISTER_ARGUMENTS];
	long result = caulk_stub(stub, caulk_stub_kinds[stub], caulk_stub_known[stub] == '1', all, count);
	for (unsigned i = 0; i < write_count; i++)
		if (writes[i].stub == stub && words[writes[i].argument] >= 4096)
			put((char *)words[writes[i].argument] + writes[i].offset, writes[i].bytes, writes[i].value);
	/* What holds something already may hold what is looked for. */
	for (unsigned i = 0; i < fill_count; i++) {
		long *place = (long *)words[fills[i].argument];
		if (fills[i].stub == stub && (long)place >= 4096 && *place == 0)
			*place = fills[i].value;
	}
	words[0] = result;
	return 1;
}

/* Whether this allocation is the one that must fail. */
int caulk_fails(void)
{
	if (!caulk_is_running)
		return 0;
	allocations++;
	if (allocations != failing)
		return 0;
	errno = ENOMEM;
	return 1;
}

/* Whether memory is the harness's own: to free it does nothing. */
int caulk_is_own(long pointer)
{
	/* There is none yet while constructors of the project run. */
	return arena && (char *)pointer >= arena && (char *)pointer < arena + ARENA_BYTES;
}

/* A block of the program's own that begins as memory of the harness does. */
static long copied(long pointer, size_t size)
{
	char *fresh = malloc(size);
	size_t rest = (size_t)(arena + ARENA_BYTES - (char *)pointer);
	if (fresh)
		memcpy(fresh, (char *)pointer, size < rest ? size : rest);
	return (long)fresh;
}

/* Memory of the harness that the program wants to have resized: it gets a copy. */
long caulk_resized(long pointer, size_t size)
{
	long fresh = copied(pointer, size);
	if (fresh)
		caulk_note_freed(pointer);
	return fresh;
}

/* Which call of the function the program is in, from 1; 0 if it is in the function itself. */
static unsigned current_call(unsigned long pc)
{
	int is_own = caulk_target_begin && pc >= (unsigned long)caulk_target_begin && pc < (unsigned long)caulk_target_end;
	return is_own ? 0 : last_call;
}

void caulk_ended(long status)
{
	say_progress();
	say("caulk: ended %ld %u\n", status, current_call((unsigned long)__builtin_return_address(0)));
	leave(71);
}

/* --- the call ------------------------------------------------------------------------------------------------------------- */

static void crashed(int signal, siginfo_t *info, void *context)
{
	unsigned long pc = 0;
#if defined(__x86_64__)
	pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	pc = ((ucontext_t *)context)->uc_mcontext.pc;
#endif
	extern char __executable_start[];
	say_progress();
	say("caulk: crashed %d 0x%lx 0x%lx %u\n", signal, pc - (unsigned long)__executable_start, (unsigned long)info->si_addr,
	    current_call(pc));
	leave(70);
}

static void watch(void)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	sigaltstack(&other, NULL);
	struct sigaction action = { .sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		sigaction(all[i], &action, NULL);
}

/* Leaves nothing of the function's frames on the stack or in registers. */
__attribute__((noinline)) static void scrub(void)
{
	volatile char space[1 << 16];
	memset((char *)space, 0, sizeof space);
}

__attribute__((noinline)) static void call(void)
{
	stack_top = __builtin_frame_address(0);
	caulk_is_running = 1;
	kept_result = caulk_invoke();
	caulk_is_running = 0;
}

int main(int count, char **words)
{
	if (count < 2) {
		say("usage: harness PLAN\n");
		return 2;
	}
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED) {
		say("caulk: exhausted\n");
		return 74;
	}
	arena_next = arena;
	read_plan(words[1]);
	watch();
	call();
	scrub();
	forget_freed();
	say("caulk: returned 0x%lx after %u allocations\n", kept_result, allocations);
	if (arena_next > arena)
		__lsan_register_root_region(arena, arena_next - arena);
	int leaks = __lsan_do_recoverable_leak_check();
	for (unsigned i = 0; i < seen_count; i++)
		say("caulk: seen %u 0x%lx\n", seen[i].stub, seen[i].block ^ MASK);
	for (unsigned i = 0; i < caulk_stub_count; i++)
		if (caulk_stub_uses[i])
			say("caulk: called %u\n", i);
	say_progress();
	say("caulk: checked %d\n", leaks);
	leave(0);
}
