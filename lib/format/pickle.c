/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/pickle.h"
#include "format/names.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <string.h>

/* The instructions, by the names of Python's pickletools. */
enum {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    DUP = '2',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    BINPERSID = 'Q',
    REDUCE = 'R',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    BINUNICODE = 'X',
    EMPTY_LIST = ']',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    SETITEMS = 'u',
    EMPTY_DICT = '}',
    EMPTY_TUPLE = ')',
    PROTO = 0x80,
    NEWOBJ = 0x81,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    BINBYTES8 = 0x8e,
    EMPTY_SET = 0x8f,
    ADDITEMS = 0x90,
    FROZENSET = 0x91,
    NEWOBJ_EX = 0x92,
    STACK_GLOBAL = 0x93,
    MEMOIZE = 0x94,
    FRAME = 0x95,
    BYTEARRAY8 = 0x96,
};

/* Of a class, with its module: names can be repeated by a few bytes. */
enum { LONGEST_NAME = 200 };

typedef struct wcodec_pickle_value value_t;

struct machine {
    struct wcodec_cursor in;
    const uint8_t *begin;
    struct wcodec_arena *arena;
    const wcodec_allocator *allocator;
    struct wcodec_cancel *cancel;
    wcodec_error *err;
    value_t **stack, **memo;
    uint64_t stack_size, stack_capacity;
    uint64_t memo_size, memo_capacity;
    uint64_t values; /* with items: what the arena holds of them */
    value_t mark;    /* only its address matters */
    value_t *other;  /* one for all that are not looked into */
};

static wcodec_status corrupt(struct machine *m, const char *what)
{
    return wcodec_fail(m->err, WCODEC_ERROR_CORRUPT, "%s at byte %zu of its pickle", what,
                       (size_t)(m->in.at - m->begin));
}

static wcodec_status no_memory(struct machine *m)
{
    return wcodec_fail(m->err, WCODEC_ERROR_MEMORY, "out of memory for a pickle");
}

/* A list of pointers with room for number `count`; NULL: no memory. */
static value_t **make_room(struct machine *m, value_t **list, uint64_t count, uint64_t *capacity)
{
    if (count < *capacity)
        return list;
    uint64_t wanted = *capacity != 0 ? *capacity * 2 : 64;
    while (wanted <= count)
        wanted *= 2;
    value_t **larger = wcodec_realloc_array(m->allocator, list, wanted, sizeof *list);
    if (larger != NULL)
        *capacity = wanted;
    return larger;
}

static wcodec_status push(struct machine *m, value_t *value)
{
    if (m->stack_size > WCODEC_PICKLE_VALUES_MAX)
        return corrupt(m, "too many values");
    value_t **stack = make_room(m, m->stack, m->stack_size, &m->stack_capacity);
    if (stack == NULL)
        return no_memory(m);
    m->stack = stack;
    m->stack[m->stack_size++] = value;
    return WCODEC_OK;
}

static wcodec_status take_room(struct machine *m, size_t size, void **room)
{
    if (m->values++ > WCODEC_PICKLE_VALUES_MAX)
        return corrupt(m, "too many values");
    *room = wcodec_arena_alloc(m->arena, size);
    return *room != NULL ? WCODEC_OK : no_memory(m);
}

static wcodec_status make(struct machine *m, enum wcodec_pickle_kind kind, value_t **value)
{
    void *room = NULL;
    const wcodec_status status = take_room(m, sizeof **value, &room);
    if (status != WCODEC_OK)
        return status;
    *value = room;
    **value = (value_t){.kind = kind};
    return WCODEC_OK;
}

static wcodec_status push_new(struct machine *m, enum wcodec_pickle_kind kind)
{
    value_t *value = NULL;
    const wcodec_status status = make(m, kind, &value);
    return status == WCODEC_OK ? push(m, value) : status;
}

static wcodec_status push_number(struct machine *m, int64_t number)
{
    const wcodec_status status = push_new(m, WCODEC_PICKLE_NUMBER);
    if (status == WCODEC_OK)
        m->stack[m->stack_size - 1]->number = number;
    return status;
}

static wcodec_status add_item(struct machine *m, value_t *to, value_t *value)
{
    void *room = NULL;
    const wcodec_status status = take_room(m, sizeof *to->first, &room);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_pickle_item *item = room;
    *item = (struct wcodec_pickle_item){.value = value};
    if (to->last != NULL)
        to->last->next = item;
    else
        to->first = item;
    to->last = item;
    return WCODEC_OK;
}

/* The topmost value, if it is one and not a mark. */
static wcodec_status pop(struct machine *m, value_t **value)
{
    if (m->stack_size == 0 || m->stack[m->stack_size - 1] == &m->mark)
        return corrupt(m, "no value is there");
    *value = m->stack[--m->stack_size];
    return WCODEC_OK;
}

/* How many values are above the last mark. */
static wcodec_status find_mark(struct machine *m, uint64_t *count)
{
    uint64_t at = m->stack_size;
    while (at > 0 && m->stack[at - 1] != &m->mark)
        at--;
    if (at == 0)
        return corrupt(m, "no mark is there");
    *count = m->stack_size - at;
    return WCODEC_OK;
}

/* The topmost `count` values become items of a value; the mark below them goes too. */
static wcodec_status take_items(struct machine *m, value_t *to, uint64_t count, bool has_mark)
{
    wcodec_status status = WCODEC_OK;
    if (m->stack_size < count)
        return corrupt(m, "too few values are there");
    value_t **from = m->stack + m->stack_size - count;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        if (from[i] == &m->mark)
            return corrupt(m, "too few values are there");
        status = to != NULL ? add_item(m, to, from[i]) : WCODEC_OK;
    }
    m->stack_size -= count + (has_mark ? 1 : 0);
    return status;
}

static wcodec_status make_tuple(struct machine *m, uint64_t count, bool has_mark)
{
    value_t *tuple = NULL;
    wcodec_status status = has_mark ? find_mark(m, &count) : WCODEC_OK;
    if (status == WCODEC_OK)
        status = make(m, WCODEC_PICKLE_TUPLE, &tuple);
    if (status == WCODEC_OK)
        status = take_items(m, tuple, count, has_mark);
    return status == WCODEC_OK ? push(m, tuple) : status;
}

/* Items for the container below them. An object that gets some is one: a subclass of list or
 * dict. */
static wcodec_status fill(struct machine *m, enum wcodec_pickle_kind kind, uint64_t count,
                          bool has_mark)
{
    wcodec_status status = has_mark ? find_mark(m, &count) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    const uint64_t above = count + (has_mark ? 1 : 0);
    if (m->stack_size <= above || m->stack[m->stack_size - above - 1] == &m->mark)
        return corrupt(m, "no container is there");
    if (kind == WCODEC_PICKLE_DICT && count % 2 != 0)
        return corrupt(m, "a key without a value");
    value_t *to = m->stack[m->stack_size - above - 1];
    if (to->kind == WCODEC_PICKLE_OBJECT) {
        to->kind = kind;
        to->first = to->last = NULL;
    }
    return take_items(m, to->kind == kind ? to : NULL, count, has_mark);
}

/* A call of what is below its arguments. */
static wcodec_status make_call(struct machine *m, uint64_t arguments)
{
    value_t *object = NULL;
    wcodec_status status = make(m, WCODEC_PICKLE_OBJECT, &object);
    if (status == WCODEC_OK)
        status = take_items(m, object, arguments, false);
    return status == WCODEC_OK ? push(m, object) : status;
}

static wcodec_status build(struct machine *m)
{
    value_t *state = NULL;
    const wcodec_status status = pop(m, &state);
    if (status != WCODEC_OK)
        return status;
    if (m->stack_size == 0 || m->stack[m->stack_size - 1] == &m->mark)
        return corrupt(m, "no object is there");
    value_t *object = m->stack[m->stack_size - 1];
    return object->kind == WCODEC_PICKLE_OBJECT ? add_item(m, object, state) : WCODEC_OK;
}

/* An unsigned number of `size` bytes, then so many bytes. */
static wcodec_status take_counted(struct machine *m, unsigned size, const uint8_t **bytes,
                                  uint64_t *count)
{
    const uint8_t *number;
    if (!wcodec_take_bytes(&m->in, size, &number))
        return corrupt(m, "the end");
    *count = wcodec_load_uint(number, size);
    return wcodec_take_bytes(&m->in, *count, bytes) ? WCODEC_OK : corrupt(m, "the end");
}

static wcodec_status push_text(struct machine *m, unsigned size)
{
    const uint8_t *bytes = NULL;
    uint64_t count = 0;
    wcodec_status status = take_counted(m, size, &bytes, &count);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_utf8_valid(bytes, (size_t)count))
        return push(m, m->other);
    status = push_new(m, WCODEC_PICKLE_TEXT);
    if (status != WCODEC_OK)
        return status;
    value_t *value = m->stack[m->stack_size - 1];
    value->text = wcodec_arena_text(m->arena, bytes, (size_t)count);
    return value->text != NULL ? WCODEC_OK : no_memory(m);
}

static wcodec_status push_bytes(struct machine *m, unsigned size)
{
    const uint8_t *bytes;
    uint64_t count;
    const wcodec_status status = take_counted(m, size, &bytes, &count);
    return status == WCODEC_OK ? push(m, m->other) : status;
}

/* Two's complement of any length; what does not fit into 64 bits is not looked into. */
static wcodec_status push_long(struct machine *m, unsigned size)
{
    const uint8_t *bytes = NULL;
    uint64_t count = 0, v = 0;
    const wcodec_status status = take_counted(m, size, &bytes, &count);
    if (status != WCODEC_OK)
        return status;
    if (count > 8)
        return push(m, m->other);
    if (count != 0 && (bytes[count - 1] & 0x80) != 0)
        v = UINT64_MAX;
    for (uint64_t i = count; i-- > 0;)
        v = v << 8 | bytes[i];
    int64_t number;
    memcpy(&number, &v, sizeof number);
    return push_number(m, number);
}

static wcodec_status push_fixed(struct machine *m, unsigned size)
{
    const uint8_t *bytes;
    if (!wcodec_take_bytes(&m->in, size, &bytes))
        return corrupt(m, "the end");
    if (size == 8)
        return push(m, m->other);
    const uint64_t v = wcodec_load_uint(bytes, size);
    return push_number(m, size == 4 && v >> 31 != 0 ? (int64_t)v - ((int64_t)1 << 32) : (int64_t)v);
}

static bool take_line(struct machine *m, const uint8_t **line, size_t *size)
{
    const uint8_t *end = memchr(m->in.at, '\n', wcodec_cursor_left(&m->in));
    if (end == NULL)
        return false;
    *line = m->in.at;
    *size = (size_t)(end - m->in.at);
    m->in.at = end + 1;
    return true;
}

static wcodec_status push_global(struct machine *m, const uint8_t *module, size_t module_size,
                                 const uint8_t *name, size_t name_size)
{
    wcodec_status status = push_new(m, WCODEC_PICKLE_GLOBAL);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_utf8_valid(module, module_size) || !wcodec_utf8_valid(name, name_size))
        return corrupt(m, "a name that is no UTF-8");
    if (module_size + name_size > LONGEST_NAME)
        return corrupt(m, "a name that is too long");
    char *text = wcodec_arena_alloc(m->arena, module_size + name_size + 2);
    if (text == NULL)
        return no_memory(m);
    memcpy(text, module, module_size);
    text[module_size] = ' ';
    memcpy(text + module_size + 1, name, name_size);
    text[module_size + 1 + name_size] = 0;
    m->stack[m->stack_size - 1]->text = text;
    return WCODEC_OK;
}

static wcodec_status push_named(struct machine *m)
{
    const uint8_t *module, *name;
    size_t module_size, name_size;
    if (!take_line(m, &module, &module_size) || !take_line(m, &name, &name_size))
        return corrupt(m, "the end");
    return push_global(m, module, module_size, name, name_size);
}

static wcodec_status push_stacked(struct machine *m)
{
    value_t *name = NULL, *module = NULL;
    wcodec_status status = pop(m, &name);
    if (status == WCODEC_OK)
        status = pop(m, &module);
    if (status != WCODEC_OK)
        return status;
    if (name->kind != WCODEC_PICKLE_TEXT || module->kind != WCODEC_PICKLE_TEXT)
        return corrupt(m, "a name that is no text");
    return push_global(m, (const uint8_t *)module->text, strlen(module->text),
                       (const uint8_t *)name->text, strlen(name->text));
}

static wcodec_status put(struct machine *m, uint64_t number)
{
    if (m->stack_size == 0 || m->stack[m->stack_size - 1] == &m->mark)
        return corrupt(m, "nothing to remember");
    if (number > WCODEC_PICKLE_VALUES_MAX)
        return corrupt(m, "too many values to remember");
    value_t **memo = make_room(m, m->memo, number, &m->memo_capacity);
    if (memo == NULL)
        return no_memory(m);
    m->memo = memo;
    while (m->memo_size <= number)
        m->memo[m->memo_size++] = NULL;
    m->memo[number] = m->stack[m->stack_size - 1];
    return WCODEC_OK;
}

static wcodec_status get(struct machine *m, uint64_t number)
{
    if (number >= m->memo_size || m->memo[number] == NULL)
        return corrupt(m, "what was never remembered");
    return push(m, m->memo[number]);
}

/* put() or get() with a number of so many bytes. */
static wcodec_status memo(struct machine *m, unsigned size,
                          wcodec_status (*what)(struct machine *, uint64_t))
{
    const uint8_t *bytes;
    return wcodec_take_bytes(&m->in, size, &bytes) ? what(m, wcodec_load_uint(bytes, size))
                                                   : corrupt(m, "the end");
}

static wcodec_status skip(struct machine *m, unsigned size)
{
    const uint8_t *bytes;
    return wcodec_take_bytes(&m->in, size, &bytes) ? WCODEC_OK : corrupt(m, "the end");
}

/* The values above a mark go, and it too; one that is not looked into may take their place. */
static wcodec_status drop(struct machine *m, bool has_other)
{
    uint64_t count = 0;
    const wcodec_status status = find_mark(m, &count);
    if (status != WCODEC_OK)
        return status;
    m->stack_size -= count + 1;
    return has_other ? push(m, m->other) : WCODEC_OK;
}

static wcodec_status make_persistent(struct machine *m)
{
    value_t *value = NULL;
    wcodec_status status = make(m, WCODEC_PICKLE_PERSISTENT, &value);
    if (status == WCODEC_OK)
        status = take_items(m, value, 1, false);
    return status == WCODEC_OK ? push(m, value) : status;
}

static wcodec_status duplicate(struct machine *m)
{
    value_t *value = NULL;
    wcodec_status status = pop(m, &value);
    if (status == WCODEC_OK)
        status = push(m, value);
    return status == WCODEC_OK ? push(m, value) : status;
}

static wcodec_status step(struct machine *m, uint8_t instruction)
{
    value_t *dropped;
    switch (instruction) {
    case PROTO:
        return skip(m, 1);
    case FRAME:
        return skip(m, 8);
    case MARK:
        return push(m, &m->mark);
    case POP:
        return pop(m, &dropped);
    case POP_MARK:
        return drop(m, false);
    case DUP:
        return duplicate(m);
    case NONE:
    case NEWTRUE:
    case NEWFALSE:
    case EMPTY_SET:
        return push(m, m->other);
    case ADDITEMS:
        return drop(m, false);
    case FROZENSET:
        return drop(m, true);
    case BININT1:
        return push_fixed(m, 1);
    case BININT2:
        return push_fixed(m, 2);
    case BININT:
        return push_fixed(m, 4);
    case BINFLOAT:
        return push_fixed(m, 8);
    case LONG1:
        return push_long(m, 1);
    case LONG4:
        return push_long(m, 4);
    case SHORT_BINUNICODE:
    case SHORT_BINSTRING:
        return push_text(m, 1);
    case BINUNICODE:
    case BINSTRING:
        return push_text(m, 4);
    case BINUNICODE8:
        return push_text(m, 8);
    case SHORT_BINBYTES:
        return push_bytes(m, 1);
    case BINBYTES:
        return push_bytes(m, 4);
    case BINBYTES8:
    case BYTEARRAY8:
        return push_bytes(m, 8);
    case EMPTY_TUPLE:
        return push_new(m, WCODEC_PICKLE_TUPLE);
    case TUPLE1:
        return make_tuple(m, 1, false);
    case TUPLE2:
        return make_tuple(m, 2, false);
    case TUPLE3:
        return make_tuple(m, 3, false);
    case TUPLE:
        return make_tuple(m, 0, true);
    case EMPTY_LIST:
        return push_new(m, WCODEC_PICKLE_LIST);
    case APPEND:
        return fill(m, WCODEC_PICKLE_LIST, 1, false);
    case APPENDS:
        return fill(m, WCODEC_PICKLE_LIST, 0, true);
    case EMPTY_DICT:
        return push_new(m, WCODEC_PICKLE_DICT);
    case SETITEM:
        return fill(m, WCODEC_PICKLE_DICT, 2, false);
    case SETITEMS:
        return fill(m, WCODEC_PICKLE_DICT, 0, true);
    case GLOBAL:
        return push_named(m);
    case STACK_GLOBAL:
        return push_stacked(m);
    case REDUCE:
    case NEWOBJ:
        return make_call(m, 2);
    case NEWOBJ_EX:
        return make_call(m, 3);
    case BUILD:
        return build(m);
    case BINPERSID:
        return make_persistent(m);
    case BINPUT:
        return memo(m, 1, put);
    case LONG_BINPUT:
        return memo(m, 4, put);
    case MEMOIZE:
        return put(m, m->memo_size);
    case BINGET:
        return memo(m, 1, get);
    case LONG_BINGET:
        return memo(m, 4, get);
    default:
        return corrupt(m, "an instruction that is not known");
    }
}

static wcodec_status run(struct machine *m, value_t **value)
{
    enum { POLLED = 4096 };
    uint8_t instruction;
    for (uint64_t done = 0;; done++) {
        if (!wcodec_take_u8(&m->in, &instruction))
            return corrupt(m, "the end");
        if (instruction == STOP)
            return pop(m, value);
        wcodec_status status =
            done % POLLED == 0 ? wcodec_cancel_check(m->cancel, m->err) : WCODEC_OK;
        if (status == WCODEC_OK)
            status = step(m, instruction);
        if (status != WCODEC_OK)
            return status;
    }
}

wcodec_status wcodec_pickle_read(const uint8_t *bytes, size_t size, struct wcodec_arena *arena,
                                 struct wcodec_cancel *cancel, value_t **value, wcodec_error *err)
{
    value_t *found = NULL;
    struct machine m = {.in = {bytes, bytes + size},
                        .begin = bytes,
                        .arena = arena,
                        .allocator = arena->allocator,
                        .cancel = cancel,
                        .err = err};
    if (size > WCODEC_PICKLE_SIZE_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "its pickle has %zu bytes, expected at most %d", size,
                           (int)WCODEC_PICKLE_SIZE_MAX);
    if (size < 2 || bytes[0] != PROTO || bytes[1] < 2 || bytes[1] > 5)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "its pickle is not of protocol 2 to 5");
    wcodec_status status = make(&m, WCODEC_PICKLE_OTHER, &m.other);
    if (status == WCODEC_OK)
        status = run(&m, &found);
    wcodec_free(m.allocator, m.stack);
    wcodec_free(m.allocator, m.memo);
    if (status != WCODEC_OK)
        return status;
    *value = found;
    return WCODEC_OK;
}

value_t *wcodec_pickle_item(const value_t *value, unsigned i)
{
    const struct wcodec_pickle_item *item = value != NULL ? value->first : NULL;
    for (; item != NULL && i > 0; i--)
        item = item->next;
    return item != NULL ? item->value : NULL;
}
