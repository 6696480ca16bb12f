/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/onnx.h"
#include "format/onnx_tensor.h"
#include "format/protobuf.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

enum {
    WINDOW = 1 << 16,
    DEPTH_MAX = 100, /* messages within each other, as protobuf's own parsers have it */
    TEXT_MAX = 256,
    VERSION_MAX = 255,
};

/* Messages that lead to tensors. */
enum message { NONE, MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, SPARSE, FUNCTION, TRAINING, PAIR };

static const struct {
    uint8_t message, number, child;
} children[] = {
    {MODEL, 7, GRAPH},      {MODEL, 20, TRAINING},     {MODEL, 25, FUNCTION},
    {TRAINING, 1, GRAPH},   {TRAINING, 2, GRAPH},      {GRAPH, 1, NODE},
    {GRAPH, 5, TENSOR},     {GRAPH, 15, SPARSE},       {NODE, 5, ATTRIBUTE},
    {ATTRIBUTE, 5, TENSOR}, {ATTRIBUTE, 6, GRAPH},     {ATTRIBUTE, 10, TENSOR},
    {ATTRIBUTE, 11, GRAPH}, {ATTRIBUTE, 22, SPARSE},   {ATTRIBUTE, 23, SPARSE},
    {FUNCTION, 7, NODE},    {FUNCTION, 11, ATTRIBUTE}, {SPARSE, 1, TENSOR},
    {SPARSE, 2, TENSOR},    {TENSOR, 13, PAIR},
};

/* Fields of messages whose values matter. */
enum {
    MODEL_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    NODE_OUTPUT = 2,
    ATTRIBUTE_NAME = 1,
    SPARSE_VALUES = 1,
    SPARSE_INDICES = 2,
    PAIR_KEY = 1,
    PAIR_VALUE = 2,
};

/* A message that is being read. */
struct frame {
    uint64_t end;
    uint8_t message;
    uint32_t number;     /* of the field that it is */
    char text[TEXT_MAX]; /* a node's first output, an attribute's name, the name of a sparse
                            tensor's values; or "" */
};

struct wcodec_onnx_model {
    const wcodec_allocator *allocator;
    uint64_t version;
    char producer[TEXT_MAX], producer_version[TEXT_MAX];
    struct wcodec_onnx_tensors tensors;
};

struct walk {
    struct wcodec_protobuf p;
    unsigned depth;
    bool has_graph;
    char key[TEXT_MAX], value[TEXT_MAX]; /* of a pair */
    struct wcodec_onnx_tensor tensor;
    struct wcodec_onnx_model *model;
    struct frame frames[DEPTH_MAX];
    uint8_t window[WINDOW];
};

bool wcodec_onnx_begins(const struct wcodec_source *source)
{
    uint8_t window[64];
    struct wcodec_protobuf p = {.source = source, .window = window, .room = sizeof window};
    struct wcodec_protobuf_field f;
    wcodec_status status = WCODEC_OK;
    for (bool is_first = true; status == WCODEC_OK && p.at < source->size; is_first = false) {
        status = wcodec_protobuf_next(&p, source->size, &f);
        const bool is_number = f.number == MODEL_VERSION || f.number == 5;
        if (is_first && (f.number != MODEL_VERSION || f.value == 0 || f.value > VERSION_MAX))
            return false;
        if (f.number == 0 || f.number > 8 ||
            f.type != (is_number ? WCODEC_PROTOBUF_VARINT : WCODEC_PROTOBUF_BYTES))
            return false;
        if (f.number == MODEL_GRAPH)
            return true;
    }
    return false;
}

static uint8_t child_of(uint8_t message, uint32_t number)
{
    for (size_t i = 0; i < sizeof children / sizeof *children; i++)
        if (children[i].message == message && children[i].number == number)
            return children[i].child;
    return NONE;
}

static wcodec_status enter(struct walk *w, uint8_t message, const struct wcodec_protobuf_field *f)
{
    if (f->type != WCODEC_PROTOBUF_BYTES)
        return CORRUPT(w->p.err, "field %" PRIu32 " at byte %" PRIu64 " is no message", f->number,
                       f->offset);
    if (w->depth == DEPTH_MAX)
        return CORRUPT(w->p.err, "messages are nested more than %d deep", (int)DEPTH_MAX);
    struct frame *frame = &w->frames[w->depth++];
    frame->end = f->offset + f->size;
    frame->message = message;
    frame->number = f->number;
    frame->text[0] = 0;
    w->p.at = f->offset;
    if (message == TENSOR)
        wcodec_onnx_tensor_begin(&w->tensor);
    if (message == PAIR)
        w->key[0] = w->value[0] = 0;
    return WCODEC_OK;
}

static wcodec_status read_model(struct walk *w, const struct wcodec_protobuf_field *f)
{
    struct wcodec_onnx_model *m = w->model;
    switch (f->number) {
    case MODEL_VERSION:
        m->version = f->value;
        return WCODEC_OK;
    case MODEL_PRODUCER:
        return wcodec_protobuf_text(&w->p, f, m->producer, sizeof m->producer);
    case MODEL_PRODUCER_VERSION:
        return wcodec_protobuf_text(&w->p, f, m->producer_version, sizeof m->producer_version);
    default:
        return WCODEC_OK;
    }
}

static wcodec_status read_field(struct walk *w, struct frame *frame,
                                const struct wcodec_protobuf_field *f)
{
    switch (frame->message) {
    case MODEL:
        return read_model(w, f);
    case NODE:
        return f->number == NODE_OUTPUT && frame->text[0] == 0
                   ? wcodec_protobuf_text(&w->p, f, frame->text, sizeof frame->text)
                   : WCODEC_OK;
    case ATTRIBUTE:
        return f->number == ATTRIBUTE_NAME
                   ? wcodec_protobuf_text(&w->p, f, frame->text, sizeof frame->text)
                   : WCODEC_OK;
    case TENSOR:
        return wcodec_onnx_tensor_field(&w->tensor, &w->p, f);
    case PAIR:
        return f->number == PAIR_KEY     ? wcodec_protobuf_text(&w->p, f, w->key, sizeof w->key)
               : f->number == PAIR_VALUE ? wcodec_protobuf_text(&w->p, f, w->value, sizeof w->value)
                                         : WCODEC_OK;
    default:
        return WCODEC_OK;
    }
}

/* Names that are not given are made of what the tensor is part of. */
static void name_tensor(struct walk *w, char *name, size_t room)
{
    const char *output = "", *attribute = "";
    const struct frame *sparse = w->depth >= 2 ? &w->frames[w->depth - 2] : NULL;
    for (unsigned i = 0; i < w->depth; i++) {
        const struct frame *f = &w->frames[i];
        if (f->message == NODE)
            output = f->text;
        if (f->message == ATTRIBUTE)
            attribute = f->text;
    }
    if (sparse != NULL && sparse->message == SPARSE && sparse->text[0] != 0 &&
        w->frames[w->depth - 1].number == SPARSE_INDICES)
        snprintf(name, room, "%s.indices", sparse->text);
    else if (output[0] != 0 && attribute[0] != 0)
        snprintf(name, room, "%s.%s", output, attribute);
    else
        snprintf(name, room, "%s",
                 output[0] != 0 ? output : (attribute[0] != 0 ? attribute : "tensor"));
}

static wcodec_status leave_tensor(struct walk *w)
{
    struct wcodec_onnx_tensor *t = &w->tensor;
    struct frame *above = &w->frames[w->depth - 2]; /* a model is never one itself */
    if (t->name[0] == 0)
        name_tensor(w, t->name, sizeof t->name);
    const size_t size = strlen(t->name) + 1;
    if (above->message == SPARSE && w->frames[w->depth - 1].number == SPARSE_VALUES &&
        size <= sizeof above->text)
        memcpy(above->text, t->name, size);
    return wcodec_onnx_tensor_end(t, w->p.at, &w->model->tensors, w->p.err);
}

static wcodec_status leave(struct walk *w)
{
    wcodec_status status = WCODEC_OK;
    const uint8_t message = w->frames[w->depth - 1].message;
    if (message == TENSOR)
        status = leave_tensor(w);
    else if (message == PAIR)
        status = wcodec_onnx_tensor_external(&w->tensor, w->key, w->value, w->p.err);
    w->depth--;
    return status;
}

static wcodec_status walk_model(struct walk *w)
{
    wcodec_status status = WCODEC_OK;
    w->frames[0] = (struct frame){.end = w->p.source->size, .message = MODEL};
    w->depth = 1;
    while (w->depth > 0 && status == WCODEC_OK) {
        struct frame *frame = &w->frames[w->depth - 1];
        struct wcodec_protobuf_field f;
        if (w->p.at == frame->end) {
            status = leave(w);
            continue;
        }
        status = wcodec_protobuf_next(&w->p, frame->end, &f);
        if (status != WCODEC_OK)
            break;
        const uint8_t child = child_of(frame->message, f.number);
        w->has_graph |= child == GRAPH;
        status = child != NONE ? enter(w, child, &f) : read_field(w, frame, &f);
    }
    if (status == WCODEC_OK && (w->model->version == 0 || !w->has_graph))
        status = CORRUPT(w->p.err, "it has no version, or no graph");
    return status;
}

static wcodec_status note_model(const struct wcodec_onnx_model *m,
                                struct wcodec_file_layout *layout, wcodec_error *err)
{
    char version[24];
    snprintf(version, sizeof version, "%" PRIu64, m->version);
    wcodec_status status = wcodec_layout_note(layout, "onnx.ir_version", version, err);
    if (status == WCODEC_OK && m->producer[0] != 0)
        status = wcodec_layout_note(layout, "onnx.producer_name", m->producer, err);
    if (status == WCODEC_OK && m->producer_version[0] != 0)
        status = wcodec_layout_note(layout, "onnx.producer_version", m->producer_version, err);
    return status;
}

wcodec_status wcodec_onnx_model_read(const struct wcodec_source *source,
                                     const wcodec_allocator *allocator,
                                     struct wcodec_onnx_model **model, wcodec_error *err)
{
    struct wcodec_onnx_model *m = wcodec_alloc_zeroed(allocator, sizeof *m);
    struct walk *w = wcodec_alloc_zeroed(allocator, sizeof *w);
    if (m == NULL || w == NULL) {
        wcodec_free(allocator, m);
        wcodec_free(allocator, w);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    }
    m->allocator = allocator;
    wcodec_onnx_tensors_init(&m->tensors, allocator);
    w->model = m;
    w->p = (struct wcodec_protobuf){
        .source = source, .window = w->window, .room = sizeof w->window, .err = err};
    wcodec_status status = walk_model(w);
    wcodec_free(allocator, w);
    if (status == WCODEC_OK)
        status = wcodec_onnx_tensors_finish(&m->tensors, err);
    if (status == WCODEC_OK)
        *model = m;
    else
        wcodec_onnx_model_free(m);
    return status;
}

void wcodec_onnx_model_free(struct wcodec_onnx_model *model)
{
    if (model == NULL)
        return;
    wcodec_onnx_tensors_free(&model->tensors);
    wcodec_free(model->allocator, model);
}

static wcodec_status put_file(const struct wcodec_onnx_model *model, const char *location,
                              struct wcodec_file_layout *layout, wcodec_error *err)
{
    const wcodec_status status = note_model(model, layout, err);
    return status == WCODEC_OK ? wcodec_onnx_tensors_put(&model->tensors, location, layout, err)
                               : status;
}

wcodec_status wcodec_onnx_read(const struct wcodec_source *source,
                               struct wcodec_file_layout *layout, wcodec_error *err)
{
    struct wcodec_onnx_model *model;
    layout->kind = "onnx";
    wcodec_status status = wcodec_onnx_model_read(source, layout->allocator, &model, err);
    if (status != WCODEC_OK)
        return status;
    status = put_file(model, NULL, layout, err);
    wcodec_onnx_model_free(model);
    return status;
}

wcodec_status wcodec_onnx_model_external(const struct wcodec_onnx_model *model,
                                         const char *location, struct wcodec_file_layout *layout,
                                         wcodec_error *err)
{
    layout->kind = "onnxdata";
    return put_file(model, location, layout, err);
}
