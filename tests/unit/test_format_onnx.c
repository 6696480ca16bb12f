/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* ONNX models: tensors wherever a model may have them, in every form; external data; what is not
 * quite a model. */

#include "support_memory.h"
#include "support_zip.h"
#include "format/layout.h"
#include "format/onnx.h"
#include "core/bytes.h"
#include "core/memory.h"

enum { VARINT = 0, BYTES = 2 };

static void put_varint(struct support_bytes *b, uint64_t v)
{
    uint8_t bytes[10];
    support_put(b, bytes, wcodec_put_varint(bytes, v));
}

static void put_number(struct support_bytes *b, unsigned field, uint64_t v)
{
    put_varint(b, field << 3 | VARINT);
    put_varint(b, v);
}

static void put_bytes(struct support_bytes *b, unsigned field, const void *data, size_t size)
{
    put_varint(b, field << 3 | BYTES);
    put_varint(b, size);
    support_put(b, data, size);
}

static void put_string(struct support_bytes *b, unsigned field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

/* A message, which is freed. */
static void put_message(struct support_bytes *b, unsigned field, struct support_bytes message)
{
    put_bytes(b, field, message.data, message.size);
    support_bytes_free(&message);
}

static struct support_bytes message_of(unsigned field, struct support_bytes inner)
{
    struct support_bytes b = {0};
    put_message(&b, field, inner);
    return b;
}

/* A TensorProto of type and shape, without data. */
static struct support_bytes bare(const char *name, uint64_t type, unsigned rank,
                                 const uint64_t *shape)
{
    struct support_bytes b = {0};
    for (unsigned i = 0; i < rank; i++)
        put_number(&b, 1, shape[i]);
    put_number(&b, 2, type);
    if (name != NULL)
        put_string(&b, 8, name);
    return b;
}

static const char zeros[256];

/* With so many bytes of data in a field: 9 is raw_data. */
static struct support_bytes tensor(const char *name, uint64_t type, uint64_t elements,
                                   unsigned field, size_t size)
{
    struct support_bytes b = bare(name, type, 1, &elements);
    put_bytes(&b, field, zeros, size);
    return b;
}

static struct support_bytes plain(const char *name)
{
    return tensor(name, 1, 2, 9, 8);
}

static void put_pair(struct support_bytes *b, const char *key, const char *value)
{
    struct support_bytes pair = {0};
    put_string(&pair, 1, key);
    put_string(&pair, 2, value);
    put_message(b, 13, pair);
}

static struct support_bytes external(const char *name, uint64_t elements, const char *location,
                                     const char *offset, const char *length)
{
    struct support_bytes b = bare(name, 1, 1, &elements);
    put_pair(&b, "location", location);
    if (offset != NULL)
        put_pair(&b, "offset", offset);
    if (length != NULL)
        put_pair(&b, "length", length);
    put_number(&b, 14, 1);
    return b;
}

static void put_head(struct support_bytes *b)
{
    put_number(b, 1, 8);
    put_string(b, 2, "test");
    put_string(b, 3, "");
    put_number(b, 5, 1);
    put_message(b, 8, (struct support_bytes){0});
}

/* A model of that graph. */
static struct support_bytes model(struct support_bytes graph)
{
    struct support_bytes b = {0};
    put_head(&b);
    put_message(&b, 7, graph);
    return b;
}

static struct support_bytes model_of(struct support_bytes initializer)
{
    return model(message_of(5, initializer));
}

static const char *note(const struct wcodec_file_layout *l, const char *key)
{
    for (uint64_t i = 0; i < l->metadata_count; i++)
        if (strcmp(l->metadata[2 * i], key) == 0)
            return l->metadata[2 * i + 1];
    return "none";
}

static struct wcodec_file_layout *good(const struct support_bytes *b)
{
    return support_layout_of(b, "onnx");
}

static void refuses(struct support_bytes b, const char *expected)
{
    support_layout_refused(&b, "is an ONNX model, but: ", expected);
    support_bytes_free(&b);
}

static void names_are(const struct support_bytes *b, const char *expected)
{
    char names[1000] = "";
    struct wcodec_file_layout *l = good(b);
    for (uint64_t i = 0; i < l->count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", l->tensors[i].name);
    assert_string_equal(names, expected);
    wcodec_layout_free(l);
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        unsigned type, elements, field, size;
        const char *dtype, *note;
        unsigned last; /* dimension */
    } cases[] = {
        {1, 3, 9, 12, "F32", "none", 3},         {1, 3, 4, 12, "F32", "none", 3},
        {2, 3, 9, 3, "U8", "none", 3},           {3, 3, 9, 3, "I8", "none", 3},
        {4, 3, 9, 6, "U16", "none", 3},          {5, 3, 9, 6, "I16", "none", 3},
        {6, 3, 9, 12, "I32", "none", 3},         {7, 3, 9, 24, "I64", "none", 3},
        {9, 3, 9, 3, "BOOL", "none", 3},         {10, 3, 9, 6, "F16", "none", 3},
        {11, 3, 9, 24, "F64", "none", 3},        {11, 3, 10, 24, "F64", "none", 3},
        {12, 3, 9, 12, "U32", "none", 3},        {13, 3, 9, 24, "U64", "none", 3},
        {14, 3, 9, 24, "C64", "none", 3},        {14, 3, 4, 24, "C64", "none", 3},
        {15, 3, 9, 48, "COMPLEX128", "none", 3}, {16, 3, 9, 6, "BF16", "none", 3},
        {17, 3, 9, 3, "F8_E4M3", "none", 3},     {18, 3, 9, 3, "F8_E4M3FNUZ", "none", 3},
        {19, 3, 9, 3, "F8_E5M2", "none", 3},     {20, 3, 9, 3, "F8_E5M2FNUZ", "none", 3},
        {21, 4, 9, 2, "U8", "UINT4 4", 2},       {22, 5, 9, 3, "U8", "INT4 5", 3},
        {23, 6, 9, 3, "U8", "FLOAT4E2M1 6", 3},  {24, 3, 9, 3, "F8_E8M0", "none", 3},
        {25, 8, 9, 2, "U8", "UINT2 8", 2},       {26, 9, 9, 3, "U8", "INT2 9", 3},
        {27, 4, 9, 3, "U8", "FLOAT6E2M3 4", 3},  {28, 5, 9, 4, "U8", "FLOAT6E3M2 5", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct support_bytes b =
            model_of(tensor("t", cases[i].type, cases[i].elements, cases[i].field, cases[i].size));
        struct wcodec_file_layout *l = good(&b);
        assert_int_equal(l->count, 1);
        assert_string_equal(l->tensors[0].dtype_name, cases[i].dtype);
        assert_int_equal(l->tensors[0].offset, b.size - cases[i].size);
        assert_int_equal(l->tensors[0].size, cases[i].size);
        assert_int_equal(l->tensors[0].rank, 1);
        assert_int_equal(l->tensors[0].shape[0], cases[i].last);
        assert_string_equal(note(l, "onnx.type.t"), cases[i].note);
        wcodec_layout_free(l);
        support_bytes_free(&b);
        refuses(model_of(tensor("t", cases[i].type, cases[i].elements, cases[i].field,
                                cases[i].size + 1)),
                "but its type and shape make");
    }
}

static void test_shapes(void **state)
{
    (void)state;
    struct support_bytes packed = {0}, scalar, b;
    put_bytes(&packed, 1, "\2\3\x84\0", 4);
    put_number(&packed, 2, 22);
    put_string(&packed, 8, "packed");
    put_bytes(&packed, 9, zeros, 12);
    scalar = bare("scalar", 10, 0, NULL);
    put_bytes(&scalar, 9, zeros, 2);
    struct support_bytes graph = {0};
    put_message(&graph, 5, packed);
    put_message(&graph, 5, scalar);
    put_message(&graph, 5, bare("empty", 1, 2, (uint64_t[]){3, 0}));
    b = model(graph);
    struct wcodec_file_layout *l = good(&b);
    assert_int_equal(l->count, 3);
    assert_memory_equal(l->tensors[0].shape, ((uint64_t[]){2, 3, 2}), 24);
    assert_string_equal(note(l, "onnx.type.packed"), "INT4 2,3,4");
    assert_int_equal(l->tensors[1].rank, 0);
    assert_int_equal(l->tensors[2].size, 0);
    assert_memory_equal(l->tensors[2].shape, ((uint64_t[]){3, 0}), 16);
    assert_string_equal(note(l, "onnx.ir_version"), "8");
    assert_string_equal(note(l, "onnx.producer_name"), "test");
    assert_string_equal(note(l, "onnx.producer_version"), "none");
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

/* An attribute of that name with a message in a field. */
static struct support_bytes attribute(const char *name, unsigned field, struct support_bytes value)
{
    struct support_bytes b = {0};
    put_string(&b, 1, name);
    put_message(&b, field, value);
    return b;
}

static struct support_bytes node(const char *output, struct support_bytes attribute_)
{
    struct support_bytes b = {0};
    put_string(&b, 1, "input");
    put_string(&b, 2, output);
    put_string(&b, 2, "another");
    put_message(&b, 5, attribute_);
    return b;
}

static struct support_bytes sparse(const char *name)
{
    struct support_bytes b = {0};
    put_message(&b, 1, plain(name));
    put_message(&b, 2, tensor(NULL, 7, 2, 9, 16));
    put_number(&b, 3, 100);
    return b;
}

static void test_places(void **state)
{
    (void)state;
    struct support_bytes graph = {0}, inner = {0}, function = {0}, training = {0}, b = {0};
    put_message(&inner, 1, node("o", attribute("value", 5, plain(NULL))));
    put_message(&inner, 5, plain("w"));
    put_message(&graph, 1, node("branch", attribute("then", 6, inner)));
    put_message(&graph, 1, node("c", attribute("value", 10, plain("given"))));
    put_message(&graph, 1, node("s", attribute("sparse_value", 22, sparse(NULL))));
    put_message(&graph, 5, plain("w"));
    put_message(&graph, 5, plain("w.2"));
    put_message(&graph, 5, plain("w"));
    put_message(&graph, 15, sparse("q"));
    put_string(&graph, 10, "text");
    put_message(&function, 7, node("f", attribute("value", 5, plain(NULL))));
    put_message(&function, 11, attribute("default", 5, plain(NULL)));
    put_message(&training, 1, message_of(5, plain("start")));
    put_message(&training, 2, message_of(5, plain("step")));
    put_head(&b);
    put_message(&b, 7, graph);
    put_message(&b, 20, training);
    put_message(&b, 25, function);
    put_string(&b, 99, "of a later version");
    names_are(&b, "o.value w given s.sparse_value s.sparse_value.indices w.3 w.2 w.4 q q.indices "
                  "start step f.value default ");
    support_bytes_free(&b);
}

static void left_is(struct support_bytes tensor_, const char *why)
{
    struct support_bytes graph = {0};
    put_message(&graph, 5, plain("listed"));
    put_message(&graph, 5, tensor_);
    struct support_bytes b = model(graph);
    struct wcodec_file_layout *l = good(&b);
    assert_int_equal(l->count, 1);
    if (strstr(l->remark.text, "1 of 2 tensors are not listed: \"t\" ") != l->remark.text ||
        strstr(l->remark.text, why) == NULL)
        fail_msg("'%s' is not said, but '%s'", why, l->remark.text);
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

static void test_left(void **state)
{
    (void)state;
    struct support_bytes b = tensor("t", 8, 1, 6, 3);
    left_is(b, "of a type");
    left_is(tensor("t", 0, 1, 9, 3), "of a type");
    left_is(tensor("t", 29, 1, 9, 3), "of a type");
    left_is(tensor("t", UINT64_MAX, 1, 9, 3), "of a type");
    left_is(tensor("t", 7, 2, 7, 2), "varying size");
    left_is(tensor("t", 6, 2, 5, 2), "varying size");
    left_is(tensor("t", 13, 2, 11, 2), "varying size");
    left_is(tensor("t", 10, 2, 4, 4), "varying size");
    left_is(bare("t", 1, 1, (uint64_t[]){2}), "no data");
    b = tensor("t", 1, 2, 9, 4);
    put_bytes(&b, 9, zeros, 4);
    left_is(b, "in pieces");
    b = bare("t", 1, 1, (uint64_t[]){1});
    put_varint(&b, 4 << 3 | 5);
    support_put(&b, zeros, 4);
    left_is(b, "in pieces");
    left_is(external("t", 2, "a/b", NULL, NULL), "in no file beside");
    left_is(external("t", 2, "/a", NULL, NULL), "in no file beside");
    left_is(external("t", 2, "..", NULL, NULL), "in no file beside");
    left_is(external("t", 2, "./.", NULL, NULL), "in no file beside");
    left_is(external("t", 2, "", NULL, NULL), "in no file beside");
    left_is(external("t", 2, "a", NULL, "9"), "another length");
}

static void test_refused(void **state)
{
    (void)state;
    struct support_bytes b;
    refuses(model((struct support_bytes){0}), "no tensors are found in it");
    refuses(model_of(tensor("t", 8, 1, 6, 3)), "no tensors are found in it: \"t\" is of a type");
    refuses(model_of(bare("t", 1, 2, (uint64_t[]){(uint64_t)1 << 40, (uint64_t)1 << 40})),
            "too large");
    refuses(model_of(bare("t", 1, 1, (uint64_t[]){UINT64_MAX})), "too large");
    refuses(model_of(external("t", 2, "f", "-1", NULL)), "its offset is \"-1\"");
    refuses(model_of(external("t", 2, "f", NULL, "99999999999999999999")), "its length is");
    b = bare("t", 1, 1, (uint64_t[]){1});
    for (int i = 0; i < 64; i++)
        put_number(&b, 1, 1);
    refuses(model_of(b), "\"t\" has more than 64 dimensions");
    /* As models have it: the name comes after the dimensions. */
    b = (struct support_bytes){0};
    for (int i = 0; i < 65; i++)
        put_number(&b, 1, 1);
    put_string(&b, 8, "late");
    refuses(model_of(b), "\"late\" has more than 64 dimensions");
    b = (struct support_bytes){0};
    put_varint(&b, 1 << 3 | 5);
    support_put(&b, zeros, 4);
    refuses(model_of(b), "are no numbers");
    b = (struct support_bytes){0};
    put_number(&b, 8, 5);
    refuses(model_of(b), "is no text");
    b = (struct support_bytes){0};
    put_number(&b, 5, 5);
    refuses(model(b), "is no message");
    b = (struct support_bytes){0};
    support_put(&b, "\x0b", 1);
    refuses(model(b), "wire type 3");
    b = (struct support_bytes){0};
    support_put(&b, "\2\0", 2);
    refuses(model(b), "field number 0");
    b = (struct support_bytes){0};
    support_put(&b, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 11);
    refuses(model(b), "has no end");
    b = model_of(plain("t"));
    b.size--;
    refuses(b, "are there");
    b = model_of(plain("t"));
    support_put(&b, "\x3a", 1);
    refuses(b, "has no end");
}

/* Graphs in attributes of nodes of graphs: 3 messages each, beside the model and the tensor. */
static void test_depth(void **state)
{
    (void)state;
    for (int graphs = 32; graphs <= 34; graphs++) {
        struct support_bytes graph = message_of(5, plain("t"));
        for (int i = 0; i < graphs; i++)
            graph = message_of(1, message_of(5, message_of(6, graph)));
        struct support_bytes b = model(graph);
        if (graphs > 32) {
            refuses(b, "nested more than 100 deep");
            continue;
        }
        names_are(&b, "t ");
        support_bytes_free(&b);
    }
}

/* What begins like a model and is none stays what it was. */
static void test_others(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        unsigned size;
    } cases[] = {
        {"\x08\x08\x12\x00", 4},             /* no graph */
        {"\x08\x00\x3a\x00", 4},             /* no version */
        {"\x3a\x00", 2},                     /* no version at the beginning */
        {"\x08\x80\x02\x3a\x00", 5},         /* version 256 */
        {"\x0a\x01\x01\x3a\x00", 5},         /* a version that is a text */
        {"\x08\x08\x10\x01\x3a\x00", 6},     /* a producer that is a number */
        {"\x08\x08\x4a\x00\x3a\x00", 6},     /* field 9, which a model has not */
        {"\x08\x08\x12\x05\x3a\x00", 6},     /* a name that is cut short */
        {"\x08\x08\x39\x00\0\0\0\0\0\0", 9}, /* a graph that is a number */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wcodec_error err = {0};
        struct support_bytes b = {0};
        support_put(&b, cases[i].bytes, cases[i].size);
        assert_null(support_layout(&b, &err));
        assert_null(strstr(err.text, "ONNX"));
        support_bytes_free(&b);
    }
    /* A safetensors file whose header has 8 bytes' length. */
    struct support_bytes b = {0};
    support_put(&b, "\x08\0\0\0\0\0\0\0{}      ", 16);
    struct wcodec_file_layout *l = support_layout(&b, NULL);
    assert_string_equal(l->kind, "safetensors");
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

static struct support_bytes split_model(void)
{
    struct support_bytes graph = {0}, integers = bare("integers", 6, 1, (uint64_t[]){4});
    put_pair(&integers, "location", "data");
    put_number(&integers, 14, 1);
    put_message(&graph, 5, external("b", 4, "./data", "16", "16"));
    put_message(&graph, 5, external("a", 4, "data", NULL, NULL));
    put_message(&graph, 5, integers);
    put_message(&graph, 5, external("tied", 4, "data", "16", NULL));
    put_message(&graph, 5, external("none", 0, "data", "999", NULL));
    put_message(&graph, 5, external("far", 10, "more", "16", NULL));
    put_message(&graph, 5, external("a", 4, "more", NULL, NULL));
    return model(graph);
}

static struct wcodec_file_layout *read_external(const struct support_bytes *b, uint64_t size,
                                                const char *location, wcodec_error *err)
{
    struct wcodec_file_layout *l = NULL;
    struct wcodec_onnx_model *model;
    struct wcodec_source source, data;
    wcodec_source_memory(b->data, b->size, &source);
    wcodec_source_memory(zeros, size, &data);
    if (wcodec_onnx_model_read(&source, &wcodec_default_allocator, &model, err) != WCODEC_OK)
        return NULL;
    wcodec_layout_read_external(&data, model, location, &wcodec_default_allocator, &l, err);
    wcodec_onnx_model_free(model);
    return l;
}

static void test_external(void **state)
{
    (void)state;
    struct support_bytes b = split_model();
    struct wcodec_file_layout *l = good(&b);
    assert_int_equal(l->count, 0);
    assert_string_equal(l->remark.text, "its tensors are in other files");
    assert_string_equal(note(l, "onnx.external.data"), "5");
    assert_string_equal(note(l, "onnx.external.more"), "2");
    wcodec_layout_free(l);
    l = read_external(&b, 32, "data", NULL);
    assert_string_equal(l->kind, "onnxdata");
    assert_int_equal(l->count, 3);
    assert_string_equal(l->tensors[0].name, "none");
    assert_string_equal(l->tensors[1].name, "a");
    assert_string_equal(l->tensors[2].name, "b");
    assert_int_equal(l->tensors[2].offset, 16);
    assert_string_equal(note(l, "onnx.shared.tied"), "b");
    assert_string_equal(note(l, "onnx.shared.integers"), "none");
    assert_non_null(
        strstr(l->remark.text, "\"integers\" is not listed: it has the bytes of \"a\""));
    assert_string_equal(note(l, "wcodec.container"), "onnxdata");
    assert_string_equal(note(l, "onnx.external.data"), "none");
    wcodec_layout_free(l);
    wcodec_error err = {0};
    assert_null(read_external(&b, 31, "data", &err));
    assert_non_null(strstr(err.text, "past the end"));
    assert_null(read_external(&b, 55, "more", &err));
    assert_non_null(strstr(err.text, "past the end"));
    assert_null(read_external(&b, 100, "other", &err));
    assert_non_null(strstr(err.text, "none of its tensors is in \"other\""));
    support_bytes_free(&b);
    b = model_of(external("t", 2, "f", NULL, NULL));
    b.size--;
    assert_null(read_external(&b, 8, "f", &err));
    support_bytes_free(&b);
}

/* Names are distinct in all files of a model together, and in each order. */
static void test_same_names(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct support_bytes graph = {0};
    for (int i = 0; i < COUNT; i++)
        put_message(&graph, 5, plain("t"));
    struct support_bytes b = model(graph);
    struct wcodec_file_layout *l = good(&b);
    assert_int_equal(l->count, COUNT);
    assert_string_equal(l->tensors[0].name, "t");
    assert_string_equal(l->tensors[COUNT - 1].name, "t.2000");
    wcodec_layout_free(l);
    support_bytes_free(&b);
    b = split_model();
    l = read_external(&b, 56, "more", NULL);
    assert_int_equal(l->count, 2);
    assert_string_equal(l->tensors[0].name, "a.2");
    assert_string_equal(l->tensors[1].name, "far");
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

static struct support_bytes sample(void)
{
    struct support_bytes graph = {0};
    put_message(&graph, 1, node("c", attribute("value", 5, plain(NULL))));
    put_message(&graph, 5, plain("t"));
    put_message(&graph, 5, plain("t"));
    put_message(&graph, 5, tensor("p", 22, 3, 9, 2));
    put_message(&graph, 5, external("e", 2, "f", "8", "8"));
    return model(graph);
}

static void test_cut_and_flipped(void **state)
{
    (void)state;
    struct support_bytes b = sample();
    wcodec_layout_free(good(&b));
    support_layout_cut_and_flipped(&b);
    support_bytes_free(&b);
}

static void test_memory(void **state)
{
    (void)state;
    struct support_bytes b = sample();
    support_layout_memory(&b, 6);
    support_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),      cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_places),     cmocka_unit_test(test_left),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_depth),
        cmocka_unit_test(test_others),     cmocka_unit_test(test_external),
        cmocka_unit_test(test_same_names), cmocka_unit_test(test_cut_and_flipped),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
