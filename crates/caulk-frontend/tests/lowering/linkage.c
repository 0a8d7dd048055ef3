/* Linkage: weak, aliases, hidden, inline, and what runs before and after main. */
int strong(void) { return 1; }
__attribute__((weak)) int replaceable(void) { return 2; }
extern int second_name(void) __attribute__((alias("strong")));
static int value = 5;
extern int value_name __attribute__((weak, alias("value")));
extern int maybe_there __attribute__((weak));
__attribute__((visibility("hidden"))) int hidden;
int tentative;
static inline int helper(void) { return tentative + value_name; }
__attribute__((gnu_inline)) extern inline int elsewhere(void) { return 4; }
__attribute__((constructor)) static void begin(void) { hidden = helper(); }
__attribute__((destructor)) void end(void) { hidden = elsewhere() + second_name(); }
int *is_it(void) { return &maybe_there; }
