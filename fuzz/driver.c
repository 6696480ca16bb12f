/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Runs a fuzz target without a fuzzer: on every file of its corpus, on every prefix of the small
 * ones, and on seeded random mutations of all.
 *
 * usage: TARGET [-n MUTATIONS] [-s SEED] [-o FILE] [FILE...]
 * Without files: fuzz/corpus/TARGET of the source tree (top_srcdir), and tests/golden where the
 * target takes whole files. FUZZ_RUNS and WCODEC_TEST_SEED are the defaults of -n and -s. -o writes
 * the input that is about to run to FILE each time: after a crash it holds the culprit. */
#include "fuzz/fuzz.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the mutations, and of prefixes, one in so many is run, where a target takes long for each. */
#ifndef FUZZ_ONE_IN
#define FUZZ_ONE_IN 1
#endif

enum { FILES_MAX = 4096, PREFIX_SIZE = 700, SIZE_MAX_MUTATED = 1 << 16 };

struct input {
    char *path;
    uint8_t *data;
    size_t size;
};

static struct input inputs[FILES_MAX];
static size_t input_count;
static volatile uint64_t current; /* number of the run, for the message of a crash */
static uint64_t seed = 20261121;
static const char *out_path;

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void say_current(void)
{
    char text[200];
    const int n = snprintf(text, sizeof text,
                           "%s: died in run %llu of seed %llu (again: -s %llu -n %llu -o FILE)\n",
                           fuzz_target, (unsigned long long)current, (unsigned long long)seed,
                           (unsigned long long)seed, (unsigned long long)current + 1);
    if (write(2, text, (size_t)n) < 0)
        _exit(1);
}

static void on_signal(int number)
{
    say_current();
    signal(number, SIG_DFL);
    raise(number);
}

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0 || input_count == FILES_MAX) {
        fprintf(stderr, "%s: cannot be read: %s\n", path, strerror(errno));
        exit(99);
    }
    struct input *in = &inputs[input_count++];
    in->path = strdup(path);
    in->size = (size_t)st.st_size;
    in->data = malloc(in->size ? in->size : 1);
    if (!in->path || !in->data || fread(in->data, 1, in->size, f) != in->size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(99);
    }
    fclose(f);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->path, ((const struct input *)b)->path);
}

static void load_folder(const char *top, const char *folder, const char *name, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s", top, folder, name);
    DIR *dir = opendir(path);
    if (!dir) {
        fprintf(stderr, "%s: cannot be opened: %s\n", path, strerror(errno));
        exit(99);
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        const size_t length = strlen(e->d_name), ends = strlen(suffix);
        if (e->d_name[0] == '.' || length < ends || strcmp(e->d_name + length - ends, suffix) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s/%s", top, folder, name, e->d_name);
        load(path);
    }
    closedir(dir);
}

static void run(const uint8_t *data, size_t size)
{
    if (out_path) {
        FILE *f = fopen(out_path, "wb");
        if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
            fprintf(stderr, "%s: cannot be written\n", out_path);
            exit(99);
        }
    }
    uint8_t *copy = fuzz_copy(data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    current++;
}

/* One change of *size bytes at data, which has room for SIZE_MAX_MUTATED. */
static void mutate(uint8_t *data, size_t *size, uint64_t *state)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x10, 0x20};
    const uint64_t r = random_next(state);
    const size_t at = *size ? (size_t)(random_next(state) % *size) : 0, left = *size - at;
    const size_t length =
        left ? 1 + (size_t)(random_next(state) % (left < 16 || r & 0x100 ? left : 16)) : 0;
    switch (*size ? r % 9 : 8) {
    case 0:
    case 1:
    case 2:
        data[at] ^= (uint8_t)(1 << (r >> 16 & 7));
        break;
    case 3:
        data[at] = (uint8_t)(r >> 16);
        break;
    case 4:
        data[at] = edges[r >> 16 & 7];
        break;
    case 5: /* a number a little larger or smaller */
        data[at] = (uint8_t)(data[at] + (r >> 16 & 1 ? 1 : 0xff));
        break;
    case 6: /* cut out */
        memmove(data + at, data + at + length, left - length);
        *size -= length;
        break;
    case 7: { /* copy within */
        const size_t to = (size_t)(random_next(state) % *size);
        memmove(data + to, data + at, length < *size - to ? length : *size - to);
        break;
    }
    default: { /* put in */
        size_t more = 1 + (size_t)(r >> 16 & 15);
        if (*size + more > SIZE_MAX_MUTATED)
            break;
        memmove(data + at + more, data + at, left);
        for (size_t i = 0; i < more; i++)
            data[at + i] = r >> 32 & 1 ? 0 : (uint8_t)random_next(state);
        *size += more;
    }
    }
}

static void run_mutations(uint64_t count)
{
    uint8_t *data = malloc(SIZE_MAX_MUTATED);
    FUZZ_REQUIRE(data);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t state = seed * 0x2545f4914f6cdd1du + i;
        const struct input *in = &inputs[random_next(&state) % input_count];
        size_t size = in->size < SIZE_MAX_MUTATED ? in->size : SIZE_MAX_MUTATED;
        if (size)
            memcpy(data, in->data, size);
        const unsigned changes = 1u << (random_next(&state) % 4);
        for (unsigned k = 0; k < changes; k++)
            mutate(data, &size, &state);
        run(data, size);
    }
    free(data);
}

/* Sanitizers end the program without a signal. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

int main(int argc, char **argv)
{
    uint64_t mutations = 3000 / FUZZ_ONE_IN;
    if (getenv("FUZZ_RUNS"))
        mutations = strtoull(getenv("FUZZ_RUNS"), NULL, 0);
    if (getenv("WCODEC_TEST_SEED"))
        seed = strtoull(getenv("WCODEC_TEST_SEED"), NULL, 0);
    for (int option; (option = getopt(argc, argv, "n:s:o:")) != -1;) {
        if (option == 'n')
            mutations = strtoull(optarg, NULL, 0);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 0);
        else if (option == 'o')
            out_path = optarg;
        else
            return 99;
    }
    for (int i = optind; i < argc; i++)
        load(argv[i]);
    if (optind == argc) {
        const char *top = getenv("top_srcdir") ? getenv("top_srcdir") : ".";
        load_folder(top, "fuzz/corpus", fuzz_target, "");
        if (fuzz_takes_files)
            load_folder(top, "tests", "golden", ".wcodec");
    }
    if (input_count == 0) {
        fprintf(stderr, "no input\n");
        return 99;
    }
    qsort(inputs, input_count, sizeof *inputs, by_path);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(say_current);
    printf("seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < input_count; i++) {
        run(inputs[i].data, inputs[i].size);
        for (size_t n = 0; n < inputs[i].size && inputs[i].size <= PREFIX_SIZE; n += FUZZ_ONE_IN)
            run(inputs[i].data, n);
    }
    run_mutations(mutations);
    printf("%s: %llu runs of %zu inputs, %llu got past the first checks\n", fuzz_target,
           (unsigned long long)current, input_count, (unsigned long long)fuzz_deep);
    for (size_t i = 0; i < input_count; i++) {
        free(inputs[i].path);
        free(inputs[i].data);
    }
    return fuzz_deep == 0;
}
