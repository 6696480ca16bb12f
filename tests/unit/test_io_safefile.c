/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_files.h"
#include "support_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "io/safefile.h"

static const wcodec_allocator *const memory = &wcodec_default_allocator;

static const struct wcodec_safefile_attributes plain = {.mode = 0644, .no_sync = true};
static const struct wcodec_safefile_attributes over = {
    .mode = 0644, .no_sync = true, .replace = true};

static void put(const char *path, const char *text)
{
    support_put_file(path, text, strlen(text));
}

static void expect_text(const char *path, const char *text)
{
    char got[64] = {0};
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_string_equal(got, text);
}

static wcodec_status write_file(const char *path, const char *text,
                                const struct wcodec_safefile_attributes *attributes,
                                wcodec_error *err)
{
    struct wcodec_safefile file;
    wcodec_status status = wcodec_safefile_open(memory, path, &file, err);
    if (status == WCODEC_OK) {
        assert_int_equal(wcodec_safefile_write(&file, text, strlen(text)), 0);
        assert_int_equal(file.written, strlen(text));
        status = wcodec_safefile_commit(&file, attributes, err);
    }
    wcodec_safefile_close(&file);
    return status;
}

static void test_create(void **state)
{
    (void)state;
    struct wcodec_safefile_attributes synced = {.mode = 0640};
    assert_int_equal(write_file("a", "hello", &synced, NULL), WCODEC_OK);
    expect_text("a", "hello");
    struct stat st;
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(support_count_names(), 1);
    /* With a folder in the path, the root's too. */
    char folder[200], path[sizeof folder + 8];
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/b", folder);
    assert_int_equal(write_file(path, "there", &plain, NULL), WCODEC_OK);
    expect_text("b", "there");
    unlink("a");
    unlink("b");
}

/* Pieces in any order, from whichever thread. */
static void test_any_order(void **state)
{
    (void)state;
    struct wcodec_safefile file;
    assert_int_equal(wcodec_safefile_open(memory, "a", &file, NULL), WCODEC_OK);
    assert_int_equal(wcodec_safefile_write_at(&file, 6, "there", 5), 0);
    assert_int_equal(wcodec_safefile_write_at(&file, 0, "hello ", 6), 0);
    assert_int_equal(wcodec_safefile_write_at(&file, 6, "T", 1), 0);
    assert_int_equal(wcodec_safefile_write_at(&file, 3, "", 0), 0);
    assert_int_equal(wcodec_safefile_commit(&file, &plain, NULL), WCODEC_OK);
    wcodec_safefile_close(&file);
    expect_text("a", "hello There");
    unlink("a");
}

static void test_nothing_before_commit(void **state)
{
    (void)state;
    struct wcodec_safefile file;
    put("a", "old");
    assert_int_equal(wcodec_safefile_open(memory, "a", &file, NULL), WCODEC_OK);
    assert_int_equal(strncmp(file.temporary, ".a.", 3), 0);
    assert_int_equal(strlen(file.temporary), 9);
    struct stat st;
    assert_int_equal(stat(file.temporary, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(wcodec_safefile_write(&file, "new", 3), 0);
    expect_text("a", "old");
    wcodec_safefile_close(&file);
    expect_text("a", "old");
    assert_int_equal(support_count_names(), 1);
    wcodec_safefile_close(&file); /* again: nothing happens */
    unlink("a");
}

static void test_replace(void **state)
{
    (void)state;
    wcodec_error err = {0};
    put("a", "old");
    assert_int_equal(write_file("a", "new", &plain, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "exists"));
    expect_text("a", "old");
    assert_int_equal(write_file("a", "new", &over, NULL), WCODEC_OK);
    expect_text("a", "new");
    assert_int_equal(support_count_names(), 1);
    unlink("a");
}

static void test_symlink(void **state)
{
    (void)state;
    put("target", "target");
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(write_file("link", "new", &plain, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(write_file("dangling", "new", &plain, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(access("nowhere", F_OK), -1);
    assert_int_equal(write_file("link", "new", &over, NULL), WCODEC_OK);
    expect_text("target", "target");
    expect_text("link", "new");
    struct stat st;
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    unlink("link");
    unlink("dangling");
    unlink("target");
}

static void test_no_regular_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir("dir", 0700), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(write_file("dir", "x", &plain, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(write_file("dir", "x", &over, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(write_file("fifo", "x", &plain, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(write_file("fifo", "x", &over, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(support_count_names(), 2);
    rmdir("dir");
    unlink("fifo");
}

static void test_bad_paths(void **state)
{
    (void)state;
    static const char *const usage[] = {"", "/", "a/", ".", "..", "x/..", "x/."};
    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++)
        assert_int_equal(write_file(usage[i], "x", &plain, NULL), WCODEC_ERROR_USAGE);
    wcodec_error err = {0};
    assert_int_equal(write_file("no/such", "x", &plain, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "no/such"));
    char name[300];
    memset(name, 'n', sizeof name);
    name[256] = 0;
    assert_int_equal(write_file(name, "x", &plain, NULL), WCODEC_ERROR_IO);
    name[255] = 0; /* the longest name: the temporary's is cut to fit */
    assert_int_equal(write_file(name, "long", &plain, NULL), WCODEC_OK);
    expect_text(name, "long");
    unlink(name);
    assert_int_equal(support_count_names(), 0);
}

static void test_cut_between_characters(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', sizeof name);
    memcpy(name + 246, "\xC3\xA4", 2); /* its second byte would be the first that is cut */
    name[255] = 0;
    struct wcodec_safefile file;
    assert_int_equal(wcodec_safefile_open(memory, name, &file, NULL), WCODEC_OK);
    assert_int_equal(strlen(file.temporary), 1 + 246 + 7);
    wcodec_safefile_close(&file);
    assert_int_equal(support_count_names(), 0);
}

static void test_mode_and_time(void **state)
{
    (void)state;
    mode_t before = umask(027);
    struct wcodec_safefile_attributes a = {.mode = 04777,
                                           .apply_umask = true,
                                           .set_mtime = true,
                                           .mtime = {1234567890, 500},
                                           .no_sync = true};
    assert_int_equal(write_file("a", "x", &a, NULL), WCODEC_OK);
    struct stat st;
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    assert_int_equal(st.st_mtim.tv_sec, 1234567890);
    assert_int_equal(st.st_mtim.tv_nsec, 500);
    a.apply_umask = false;
    a.mode = 0666;
    a.set_owner = true;
    a.uid = geteuid();
    a.gid = getegid();
    a.replace = true;
    assert_int_equal(write_file("a", "x", &a, NULL), WCODEC_OK);
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0666);
    assert_int_equal(umask(before), 027); /* not changed */
    unlink("a");
}

/* A disk that is full after 8192 bytes, by a limit of the process. */
static void write_beyond_limit(const char *path)
{
    struct rlimit limit = {8192, 8192};
    static char block[5000];
    struct wcodec_safefile file;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        wcodec_safefile_open(memory, path, &file, NULL) != WCODEC_OK)
        _exit(1);
    if (wcodec_safefile_write(&file, block, sizeof block) != 0 ||
        wcodec_safefile_write(&file, block, sizeof block) != EFBIG || file.written != 8192)
        _exit(2);
    if (wcodec_safefile_write_at(&file, 0, block, sizeof block) != 0 ||
        wcodec_safefile_write_at(&file, 5000, block, sizeof block) != EFBIG)
        _exit(3);
    wcodec_safefile_close(&file);
    _exit(0);
}

static void test_full_disk(void **state)
{
    (void)state;
    put("a", "old");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_beyond_limit("a");
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    expect_text("a", "old");
    assert_int_equal(support_count_names(), 1);
    unlink("a");
}

static void test_write_error(void **state)
{
    (void)state;
    struct wcodec_safefile file;
    assert_int_equal(wcodec_safefile_open(memory, "a", &file, NULL), WCODEC_OK);
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) {
        wcodec_safefile_close(&file);
        skip();
    }
    assert_true(dup2(full, file.fd) == file.fd);
    close(full);
    assert_int_equal(wcodec_safefile_write(&file, "x", 1), ENOSPC);
    assert_int_equal(wcodec_safefile_write_at(&file, 0, "x", 1), ENOSPC);
    assert_int_equal(file.written, 0);
    wcodec_safefile_close(&file);
    assert_int_equal(support_count_names(), 0);
}

static void test_commit_fails(void **state)
{
    (void)state;
    struct wcodec_safefile file;
    wcodec_error err = {0};
    assert_int_equal(wcodec_safefile_open(memory, "a", &file, NULL), WCODEC_OK);
    unlink(file.temporary); /* somebody took it away */
    assert_int_equal(wcodec_safefile_commit(&file, &over, &err), WCODEC_ERROR_IO);
    assert_int_equal(wcodec_safefile_commit(&file, &over, &err), WCODEC_ERROR_USAGE);
    wcodec_safefile_close(&file);
    assert_int_equal(support_count_names(), 0);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    int n;
    for (n = 0;; n++) {
        struct support_allocator failing;
        support_allocator_init(&failing, n);
        struct wcodec_safefile file;
        wcodec_status status = wcodec_safefile_open(&failing.allocator, "./a", &file, NULL);
        wcodec_safefile_close(&file);
        assert_int_equal(support_count_names(), 0);
        assert_int_equal(failing.balance, 0);
        if (status == WCODEC_OK)
            break;
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
    assert_true(n >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_nothing_before_commit),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_symlink),
        cmocka_unit_test(test_no_regular_file),
        cmocka_unit_test(test_bad_paths),
        cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_mode_and_time),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_write_error),
        cmocka_unit_test(test_commit_fails),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
