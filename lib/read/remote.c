/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The file is covered by *extents*, sorted and disjoint, with holes where nothing was asked for. An
 * extent is one request. Whoever needs one that nobody has begun asks for it himself, so a reader
 * never waits for memory or for a thread, but only for requests that are under way. */
#include "read/remote.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "sched/background.h"
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum {
    /* Of the head, and of the tail with the index before it, when the file is opened. */
    HEAD_BYTES = 64 << 10,
    TAIL_BYTES = 256 << 10,
    /* Ranges no further apart are one request: less than what a connection carries while a request
     * is answered. */
    NEAR_BYTES = 128 << 10,
    /* What nobody announced: asked for to its place, or from so many bytes on. */
    DIRECT_BYTES = 256 << 10,
    LEAST_BYTES = 16 << 10,
    REQUEST_BYTES = 16 << 20,
    REQUEST_LEAST = 64 << 10,
    REQUEST_MOST = 1 << 30,
    REQUESTS = 8,
    /* Of the memory, what was read and may be read again: payloads that are hashed first. */
    KEPT_SHARE = 4,
    REQUESTS_MAX = 64
};

enum state { ASKED, READING, READY, FAILED };

struct extent {
    uint64_t offset, size;
    uint64_t wanted;     /* announced bytes that were not yet read; 0: may go */
    const void *owner;   /* who announced it */
    struct extent *next; /* ASKED: in the order of announcements; READY: of their arrival */
    struct extent *previous;
    uint8_t *data;
    unsigned users; /* who copy from it */
    enum state state;
    wcodec_status status;
    wcodec_error *error; /* FAILED; NULL: no memory for it */
};

struct list {
    struct extent *first, *last;
};

struct wcodec_remote {
    const wcodec_allocator *allocator;
    wcodec_io io; /* with defaults set */
    pthread_mutex_t lock;
    pthread_cond_t work, arrived; /* for those who ask ahead; for those who read */
    struct extent **extents;
    size_t count, room;
    struct list asked, ready;
    uint64_t held; /* bytes of extents that are READING or READY */
    pthread_t threads[REQUESTS_MAX];
    unsigned thread_count;
    bool stop;
    bool owned; /* close is called */
};

wcodec_status wcodec_io_check(const wcodec_io *io, wcodec_error *err)
{
    if (io == NULL || io->read_at == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no function to read by");
    const uint64_t least = io->request_bytes != 0 ? io->request_bytes : REQUEST_LEAST;
    if (io->request_bytes != 0 &&
        (io->request_bytes < REQUEST_LEAST || io->request_bytes > REQUEST_MOST))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "requests of %" PRIu64 " bytes, expected %d to %d", io->request_bytes,
                           REQUEST_LEAST, REQUEST_MOST);
    if (io->cache_bytes != 0 && io->cache_bytes < 2 * least)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "memory of %" PRIu64 " bytes, at least two requests, %" PRIu64,
                           io->cache_bytes, 2 * least);
    if (io->requests > REQUESTS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%" PRIu64 " requests at once, at most %d",
                           io->requests, REQUESTS_MAX);
    return wcodec_reserved_check(io->reserved, sizeof io->reserved, "file", err);
}

static void append(struct list *list, struct extent *e)
{
    e->next = NULL;
    e->previous = list->last;
    *(list->last != NULL ? &list->last->next : &list->first) = e;
    list->last = e;
}

static void unlink_extent(struct list *list, struct extent *e)
{
    *(e->previous != NULL ? &e->previous->next : &list->first) = e->next;
    *(e->next != NULL ? &e->next->previous : &list->last) = e->previous;
    e->next = e->previous = NULL;
}

/* The number of the first extent that ends after `offset`. */
static size_t find(const struct wcodec_remote *r, uint64_t offset)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->extents[middle]->offset + r->extents[middle]->size <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first extent that has bytes of [begin, end), or of the byte `begin`; NULL: none. */
static struct extent *extent_at(const struct wcodec_remote *r, uint64_t begin, uint64_t end)
{
    const size_t i = find(r, begin);
    struct extent *e = i < r->count ? r->extents[i] : NULL;
    return e != NULL && (e->offset < end || e->offset <= begin) ? e : NULL;
}

static void free_extent(const struct wcodec_remote *r, struct extent *e)
{
    wcodec_free(r->allocator, e->error);
    wcodec_free(r->allocator, e->data);
    wcodec_free(r->allocator, e);
}

/* It is in no list, and nobody uses it. */
static void remove_extent(struct wcodec_remote *r, struct extent *e)
{
    const size_t i = find(r, e->offset);
    r->count--;
    memmove(r->extents + i, r->extents + i + 1, (r->count - i) * sizeof(struct extent *));
    free_extent(r, e);
}

/* A new one, which overlaps none; NULL: out of memory. */
static struct extent *add_extent(struct wcodec_remote *r, uint64_t offset, uint64_t size)
{
    if (r->count == r->room) {
        const size_t room = r->room == 0 ? 64 : 2 * r->room;
        struct extent **more =
            wcodec_realloc_array(r->allocator, r->extents, room, sizeof(struct extent *));
        if (more == NULL)
            return NULL;
        r->extents = more;
        r->room = room;
    }
    struct extent *e = wcodec_alloc_zeroed(r->allocator, sizeof *e);
    if (e == NULL)
        return NULL;
    e->offset = offset;
    e->size = size;
    const size_t i = find(r, offset);
    memmove(r->extents + i + 1, r->extents + i, (r->count - i) * sizeof(struct extent *));
    r->extents[i] = e;
    r->count++;
    return e;
}

/* Let go of what has arrived, the oldest first, until no more than so many bytes are held: of what
 * was read, or of all. */
static void shrink(struct wcodec_remote *r, uint64_t most, bool all)
{
    for (struct extent *e = r->ready.first, *next; e != NULL && r->held > most; e = next) {
        next = e->next;
        if (e->users != 0 || (!all && e->wanted != 0))
            continue;
        unlink_extent(&r->ready, e);
        r->held -= e->size;
        remove_extent(r, e);
    }
}

/* Is there room for so many bytes, which are less than all? */
static bool make_room(struct wcodec_remote *r, uint64_t size, bool all)
{
    const uint64_t most = r->io.cache_bytes - size;
    shrink(r, most, false);
    if (all)
        shrink(r, most, true);
    return r->held <= most;
}

/* Bytes by the caller's function, whole. The lock is not held. */
static wcodec_status ask(const struct wcodec_remote *r, uint64_t offset, uint8_t *dst,
                         uint64_t size, wcodec_error *err)
{
    while (size > 0) {
        const size_t most = (size_t)(size < r->io.request_bytes ? size : r->io.request_bytes);
        wcodec_error error = {.status = WCODEC_OK};
        const int64_t got = r->io.read_at(r->io.opaque, offset, most, dst, &error);
        if (got < 0) {
            error.text[sizeof error.text - 1] = 0;
            return wcodec_fail(err, error.status == WCODEC_OK ? WCODEC_ERROR_IO : error.status,
                               "reading %zu bytes at byte %" PRIu64 ": %s", most, offset,
                               error.text[0] != 0 ? error.text : "no reason was given");
        }
        if (got == 0)
            return wcodec_fail(err, WCODEC_ERROR_IO,
                               "the file ends at byte %" PRIu64 ": it is shorter than the %" PRIu64
                               " bytes that it should have",
                               offset, r->io.size);
        if ((uint64_t)got > most)
            return wcodec_fail(err, WCODEC_ERROR_IO,
                               "reading at byte %" PRIu64 " gave %" PRId64
                               " bytes where %zu were asked for",
                               offset, got, most);
        dst += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return WCODEC_OK;
}

/* Ask for an extent that is READING now, by this thread. The lock is held, but not meanwhile. */
static void fetch(struct wcodec_remote *r, struct extent *e)
{
    wcodec_error error = {.status = WCODEC_OK};
    r->held += e->size;
    pthread_mutex_unlock(&r->lock);
    uint8_t *data = wcodec_alloc_array(r->allocator, e->size, 1);
    const wcodec_status status =
        data != NULL ? ask(r, e->offset, data, e->size, &error)
                     : wcodec_fail(&error, WCODEC_ERROR_MEMORY,
                                   "out of memory: %" PRIu64 " bytes of a request", e->size);
    pthread_mutex_lock(&r->lock);
    e->status = status;
    if (status == WCODEC_OK) {
        e->data = data;
        e->state = READY;
        append(&r->ready, e);
    } else {
        wcodec_free(r->allocator, data);
        r->held -= e->size;
        e->state = FAILED;
        e->error = wcodec_alloc(r->allocator, sizeof error);
        if (e->error != NULL)
            *e->error = error;
    }
    pthread_cond_broadcast(&r->arrived);
}

static void *ask_ahead(void *argument)
{
    struct wcodec_remote *r = argument;
    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        struct extent *e = r->asked.first;
        if (e == NULL || !make_room(r, e->size, false)) {
            pthread_cond_wait(&r->work, &r->lock);
            continue;
        }
        unlink_extent(&r->asked, e);
        e->state = READING;
        fetch(r, e);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* As many as have something to do. Without any, those who read ask by themselves. */
static void start_threads(struct wcodec_remote *r, size_t extents)
{
    while (r->thread_count < r->io.requests && r->thread_count < extents) {
        if (wcodec_thread_start(&r->threads[r->thread_count], ask_ahead, r) != 0)
            break;
        r->thread_count++;
    }
    pthread_cond_broadcast(&r->work);
}

/* A hole of the file in which something was announced. False: out of memory. */
static bool ask_for(struct wcodec_remote *r, const void *owner, uint64_t offset, uint64_t size,
                    uint64_t wanted)
{
    struct extent *e = size > 0 ? add_extent(r, offset, size) : NULL;
    if (e == NULL)
        return size == 0;
    e->wanted = wanted;
    e->owner = owner;
    append(&r->asked, e);
    return true;
}

/* Announced bytes that wait to become one extent. */
struct span {
    uint64_t begin, end, wanted;
};

/* Bytes [begin, end) are in no extent, and so is what lies between them and the span. */
static bool extend(struct wcodec_remote *r, const void *owner, struct span *s, uint64_t begin,
                   uint64_t end, size_t *added)
{
    while (begin < end) {
        const uint64_t most = r->io.request_bytes;
        if (s->end == s->begin || begin - s->end > NEAR_BYTES || begin - s->begin >= most) {
            *added += s->end > s->begin;
            if (!ask_for(r, owner, s->begin, s->end - s->begin, s->wanted))
                return false;
            *s = (struct span){begin, begin, 0};
        }
        const uint64_t stop = end - s->begin <= most ? end : s->begin + most;
        s->wanted += stop - begin;
        s->end = begin = stop;
    }
    return true;
}

static void announce(void *opaque, const void *owner, const struct wcodec_source_range *ranges,
                     size_t count)
{
    struct wcodec_remote *r = opaque;
    struct span s = {0, 0, 0};
    uint64_t last = 0;
    size_t added = 0;
    bool more = true;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < count && more; i++) {
        const uint64_t end = ranges[i].offset + ranges[i].size;
        uint64_t at = ranges[i].offset > last ? ranges[i].offset : last;
        last = end > last ? end : last;
        while (at < end && more) {
            if (s.end > s.begin && extent_at(r, s.end, at) != NULL) {
                added++;
                more = ask_for(r, owner, s.begin, s.end - s.begin, s.wanted);
                s = (struct span){0, 0, 0};
            }
            /* What the byte is in, or what follows the hole that it is in. */
            struct extent *e = extent_at(r, at, end);
            const uint64_t next = e == NULL ? end : e->offset;
            if (more && e != NULL && e->state == FAILED && e->users == 0) {
                remove_extent(r, e);
            } else if (more && at < next) {
                more = extend(r, owner, &s, at, next, &added);
                at = next;
            } else if (more) {
                const uint64_t stop = e->offset + e->size < end ? e->offset + e->size : end;
                e->wanted += stop - at;
                e->owner = owner;
                at = stop;
            }
        }
    }
    if (more && s.end > s.begin) {
        added++;
        (void)ask_for(r, owner, s.begin, s.end - s.begin, s.wanted);
    }
    start_threads(r, added);
    pthread_mutex_unlock(&r->lock);
}

/* Nobody reads what that one announced and did not read. */
static void withdraw(void *opaque, const void *owner)
{
    struct wcodec_remote *r = opaque;
    pthread_mutex_lock(&r->lock);
    for (size_t i = r->count; i-- > 0;) {
        struct extent *e = r->extents[i];
        if (e->owner != owner)
            continue;
        e->owner = NULL;
        e->wanted = 0;
        if (e->state == ASKED)
            unlink_extent(&r->asked, e);
        if (e->state == ASKED || (e->state == FAILED && e->users == 0))
            remove_extent(r, e);
    }
    shrink(r, r->io.cache_bytes / KEPT_SHARE, false);
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->lock);
}

/* The extent's reason is the reader's; the next one tries again. */
static wcodec_status take_failure(struct wcodec_remote *r, struct extent *e, wcodec_error *err)
{
    const wcodec_status status = e->error != NULL
                                     ? wcodec_fail(err, e->status, "%s", e->error->text)
                                     : wcodec_fail(err, e->status, "reading failed");
    if (e->users == 0)
        remove_extent(r, e);
    return status;
}

/* Copy from an extent that is there: *n bytes. */
static void copy(struct wcodec_remote *r, struct extent *e, uint64_t offset, uint8_t *dst,
                 uint64_t size, uint64_t *n)
{
    const uint64_t left = e->offset + e->size - offset;
    *n = size < left ? size : left;
    e->users++;
    pthread_mutex_unlock(&r->lock);
    memcpy(dst, e->data + (offset - e->offset), (size_t)*n);
    pthread_mutex_lock(&r->lock);
    e->users--;
    e->wanted = e->wanted > *n ? e->wanted - *n : 0;
    if (e->wanted != 0 || e->users != 0)
        return;
    shrink(r, r->io.cache_bytes / KEPT_SHARE, false);
    pthread_cond_broadcast(&r->work);
}

/* Bytes in a hole of `room` bytes: to their place if they are many. */
static wcodec_status read_hole(struct wcodec_remote *r, uint64_t offset, uint8_t *dst,
                               uint64_t size, uint64_t room, uint64_t *n, wcodec_error *err)
{
    *n = size < room ? size : room;
    struct extent *e = NULL;
    if (*n < DIRECT_BYTES && *n <= r->io.request_bytes) {
        const uint64_t least = *n > LEAST_BYTES ? *n : LEAST_BYTES;
        e = add_extent(r, offset, least < room ? least : room);
    }
    if (e != NULL) {
        e->wanted = *n;
        e->state = READING;
        (void)make_room(r, e->size, true);
        fetch(r, e);
        *n = 0; /* once more, as one that is there */
        return WCODEC_OK;
    }
    pthread_mutex_unlock(&r->lock);
    const wcodec_status status = ask(r, offset, dst, *n, err);
    pthread_mutex_lock(&r->lock);
    return status;
}

static wcodec_status read_some(struct wcodec_remote *r, uint64_t offset, uint8_t *dst,
                               uint64_t size, uint64_t *n, wcodec_error *err)
{
    struct extent *e = extent_at(r, offset, UINT64_MAX);
    *n = 0;
    if (e == NULL || e->offset > offset)
        return read_hole(r, offset, dst, size, (e != NULL ? e->offset : r->io.size) - offset, n,
                         err);
    if (e->state == READY) {
        copy(r, e, offset, dst, size, n);
    } else if (e->state == FAILED) {
        return take_failure(r, e, err);
    } else if (e->state == READING) {
        e->users++;
        while (e->state == READING)
            pthread_cond_wait(&r->arrived, &r->lock);
        e->users--;
        if (e->state == FAILED)
            return take_failure(r, e, err);
    } else {
        unlink_extent(&r->asked, e);
        e->state = READING;
        (void)make_room(r, e->size, true);
        fetch(r, e);
    }
    return WCODEC_OK;
}

static wcodec_status read_bytes(void *opaque, uint64_t offset, void *dst, size_t size,
                                wcodec_error *err)
{
    struct wcodec_remote *r = opaque;
    uint8_t *to = dst;
    uint64_t left = size;
    wcodec_status status = WCODEC_OK;
    pthread_mutex_lock(&r->lock);
    while (left > 0 && status == WCODEC_OK) {
        uint64_t n;
        status = read_some(r, offset, to, left, &n, err);
        offset += n;
        to += n;
        left -= n;
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

void wcodec_remote_own(struct wcodec_remote *remote)
{
    remote->owned = true;
}

void wcodec_remote_source(struct wcodec_remote *remote, struct wcodec_source *source)
{
    wcodec_source_function(read_bytes, remote, remote->io.size, source);
    source->announce = announce;
    source->withdraw = withdraw;
}

/* A small file is one request. */
static void announce_ends(struct wcodec_remote *r)
{
    const uint64_t size = r->io.size;
    const bool small = size <= HEAD_BYTES + TAIL_BYTES;
    const struct wcodec_source_range ends[] = {
        {0, small ? size : HEAD_BYTES}, {small ? size : size - TAIL_BYTES, small ? 0 : TAIL_BYTES}};
    announce(r, r, ends, small ? 1 : 2);
}

wcodec_status wcodec_remote_create(const wcodec_allocator *allocator, const wcodec_io *io,
                                   struct wcodec_remote **remote, wcodec_error *err)
{
    struct wcodec_remote *r = wcodec_alloc_zeroed(allocator, sizeof *r);
    if (r == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a file");
    r->allocator = allocator;
    r->io = *io;
    r->io.name = NULL; /* the caller's */
    if (io->request_bytes == 0)
        r->io.request_bytes = REQUEST_BYTES;
    if (io->requests == 0)
        r->io.requests = REQUESTS;
    if (io->cache_bytes == 0)
        r->io.cache_bytes = 2 * r->io.requests * r->io.request_bytes;
    else if (io->request_bytes == 0 && r->io.request_bytes > io->cache_bytes / 2)
        r->io.request_bytes = io->cache_bytes / 2;
    if (pthread_mutex_init(&r->lock, NULL) != 0) {
        wcodec_free(allocator, r);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    }
    if (pthread_cond_init(&r->work, NULL) != 0 || pthread_cond_init(&r->arrived, NULL) != 0) {
        pthread_mutex_destroy(&r->lock);
        wcodec_free(allocator, r);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    }
    announce_ends(r);
    *remote = r;
    return WCODEC_OK;
}

void wcodec_remote_destroy(struct wcodec_remote *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->lock);
    for (unsigned i = 0; i < r->thread_count; i++)
        pthread_join(r->threads[i], NULL);
    for (size_t i = 0; i < r->count; i++)
        free_extent(r, r->extents[i]);
    wcodec_free(r->allocator, r->extents);
    pthread_cond_destroy(&r->arrived);
    pthread_cond_destroy(&r->work);
    pthread_mutex_destroy(&r->lock);
    if (r->owned && r->io.close != NULL)
        r->io.close(r->io.opaque);
    wcodec_free(r->allocator, r);
}
