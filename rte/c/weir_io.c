// SPDX-License-Identifier: Apache-2.0
//
// The memory, as rte/src/application/memory.rs, description.rs and rotation.rs have it:
//
//     header       64 bytes: words of enum word
//     protocol 0   inputs: rotation's word in 64 bytes, three slots; outputs: the same
//     protocol 1   ...
//     records      64 bytes each: protocols, inputs, outputs
//
// A slot is a stamp and an image, filled up to 64 bytes. The rotation names the slot that the one side writes, the one
// that was published last, and the one that the other side reads: see rotate_in and rotate_out.

#define _GNU_SOURCE

#include "weir_io.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x57656972u
#define VERSION 2u
#define LINE 64u
#define RECORD 64u
#define NAME 40u
#define MOST 1048576u
#define NOBODY UINT32_MAX
#define FRESH 64u
#define TRIES 4

enum word {
    W_MAGIC,
    W_VERSION,
    W_INPUT_BYTES,
    W_OUTPUT_BYTES,
    W_PROTOCOLS,
    W_INPUTS,
    W_OUTPUTS,
    W_BYTES,
    W_STALE_MS,
    W_APPLICATION,
    W_REPLACED,
};

struct record {
    char name[NAME];
    uint32_t type, offset, owner, is_held, safe, reserved;
};
_Static_assert(sizeof(struct record) == RECORD, "records have no gaps");

struct stamp {
    uint64_t at_ns;
    uint32_t state, reserved;
};
_Static_assert(sizeof(struct stamp) == 16, "stamps have no gaps");

struct weir_io {
    uint8_t *memory;
    size_t bytes;
    int file;
    uint32_t input_bytes, output_bytes, protocols, inputs, outputs;
    uint64_t stale_ns;
    const struct record *records;
    uint8_t *image;  // of inputs
    uint8_t *safe;   // an image of outputs with the safe values
    uint8_t *held;   // 1 where an output keeps what the PLC sent last
    uint8_t *taken;  // an image of outputs for each protocol
    uint32_t *state; // of each protocol
};

const char *weir_io_error_text(enum weir_io_error error)
{
    static const char *const texts[] = {
        [WEIR_IO_OK] = "all is well",
        [WEIR_IO_NO_FILE] = "the memory cannot be opened: is weir-io running, and may you write the file?",
        [WEIR_IO_NOT_MEMORY] = "the file is not a memory of weir-io",
        [WEIR_IO_VERSION] = "the memory belongs to another version of weir-io",
        [WEIR_IO_DAMAGED] = "what the memory says of itself does not fit together",
        [WEIR_IO_TAKEN] = "another application has the memory",
        [WEIR_IO_NO_MEMORY] = "there is no memory left",
    };
    return (unsigned)error < sizeof texts / sizeof *texts ? texts[error] : "unknown error";
}

static size_t stride(size_t image)
{
    return (sizeof(struct stamp) + image + LINE - 1) / LINE * LINE;
}

static size_t buffer_bytes(size_t image)
{
    return LINE + 3 * stride(image);
}

static size_t inputs_at(const struct weir_io *io, size_t protocol)
{
    return LINE + protocol * (buffer_bytes(io->input_bytes) + buffer_bytes(io->output_bytes));
}

static size_t outputs_at(const struct weir_io *io, size_t protocol)
{
    return inputs_at(io, protocol) + buffer_bytes(io->input_bytes);
}

static _Atomic uint32_t *word_at(const struct weir_io *io, size_t at)
{
    return (_Atomic uint32_t *)(void *)(io->memory + at);
}

static _Atomic uint32_t *header(const struct weir_io *io, enum word word)
{
    return word_at(io, (size_t)word * sizeof(uint32_t));
}

// A memory that another program has destroyed gives nonsense, and no access outside of it.
static uint8_t *slot_at(const struct weir_io *io, size_t buffer, uint32_t index, size_t image)
{
    return io->memory + buffer + LINE + (index < 3 ? index : 2) * stride(image);
}

// The word: bits 0 and 1 are the writer's slot, 2 and 3 what was published last, 4 and 5 the reader's, bit 6 is set
// while what was published was not taken. One exchange moves two of them, so that every slot has one role at every
// moment, whoever dies when.

// Publishes the writer's slot. The exchange can fail only because the reader took what was published before.
static void rotate_in(_Atomic uint32_t *rotation)
{
    uint32_t word = atomic_load_explicit(rotation, memory_order_relaxed), next;
    do
        next = (word >> 2 & 3) | (word & 3) << 2 | (word & 3 << 4) | FRESH;
    while (!atomic_compare_exchange_weak_explicit(rotation, &word, next, memory_order_acq_rel, memory_order_relaxed));
}

// Takes what was published last, unless it was taken before; answers the reader's slot.
static uint32_t rotate_out(_Atomic uint32_t *rotation)
{
    uint32_t word = atomic_load_explicit(rotation, memory_order_relaxed);
    for (int tries = 0; tries < TRIES && word & FRESH; tries++) {
        uint32_t next = (word & 3) | (word >> 4 & 3) << 2 | (word >> 2 & 3) << 4;
        if (atomic_compare_exchange_strong_explicit(rotation, &word, next, memory_order_acq_rel, memory_order_relaxed))
            return next >> 4 & 3;
    }
    return word >> 4 & 3;
}

static size_t type_bytes(uint32_t type)
{
    return type <= WEIR_IO_I8 ? 1 : type <= WEIR_IO_I16 ? 2 : 4;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Whether a record is a name, and, if `image` is not 0, a point in an image with that many bytes.
static bool is_record(const struct record *record, bool is_point, size_t image)
{
    if (!memchr(record->name, 0, NAME))
        return false;
    return !is_point ||
           (record->type <= WEIR_IO_F32 && record->offset <= image &&
            image - record->offset >= type_bytes(record->type) && record->offset % type_bytes(record->type) == 0);
}

static bool are_records(const struct weir_io *io)
{
    const struct record *record = io->records;
    for (uint32_t n = 0; n < io->protocols; n++)
        if (!is_record(record++, false, 0))
            return false;
    for (uint32_t n = 0; n < io->inputs; n++)
        if (!is_record(record++, true, io->input_bytes))
            return false;
    for (uint32_t n = 0; n < io->outputs; n++, record++)
        if (!is_record(record, true, io->output_bytes) || (record->owner != NOBODY && record->owner >= io->protocols))
            return false;
    return true;
}

// Maps the file, if it is a memory.
static enum weir_io_error map(struct weir_io *io)
{
    struct stat about;
    uint32_t words[W_STALE_MS + 1];
    if (fstat(io->file, &about) || pread(io->file, words, sizeof words, 0) != (ssize_t)sizeof words ||
        words[W_MAGIC] != MAGIC)
        return WEIR_IO_NOT_MEMORY;
    if (words[W_VERSION] != VERSION)
        return WEIR_IO_VERSION;
    for (int n = W_INPUT_BYTES; n <= W_OUTPUTS; n++)
        if (words[n] > MOST)
            return WEIR_IO_DAMAGED;
    io->input_bytes = words[W_INPUT_BYTES];
    io->output_bytes = words[W_OUTPUT_BYTES];
    io->protocols = words[W_PROTOCOLS];
    io->inputs = words[W_INPUTS];
    io->outputs = words[W_OUTPUTS];
    io->stale_ns = (uint64_t)words[W_STALE_MS] * 1000000u;
    size_t records = inputs_at(io, io->protocols);
    size_t bytes = records + (size_t)RECORD * ((size_t)io->protocols + io->inputs + io->outputs);
    if (about.st_size != (off_t)bytes || words[W_BYTES] != bytes)
        return WEIR_IO_DAMAGED;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, io->file, 0);
    if (memory == MAP_FAILED)
        return WEIR_IO_NO_MEMORY;
    io->memory = memory;
    io->bytes = bytes;
    io->records = (const struct record *)(const void *)(io->memory + records);
    return are_records(io) ? WEIR_IO_OK : WEIR_IO_DAMAGED;
}

// What this process has of its own: the images.
static enum weir_io_error allocate(struct weir_io *io)
{
    // An image of no bytes is memory, too.
    io->image = calloc(io->input_bytes + 1, 1);
    io->safe = calloc(io->output_bytes + 1, 1);
    io->held = calloc(io->output_bytes + 1, 1);
    io->taken = calloc((size_t)io->protocols * io->output_bytes + 1, 1);
    io->state = calloc((size_t)io->protocols + 1, sizeof *io->state);
    if (!io->image || !io->safe || !io->held || !io->taken || !io->state)
        return WEIR_IO_NO_MEMORY;
    const struct record *outputs = io->records + io->protocols + io->inputs;
    for (uint32_t n = 0; n < io->outputs; n++) {
        memcpy(io->safe + outputs[n].offset, &outputs[n].safe, type_bytes(outputs[n].type));
        memset(io->held + outputs[n].offset, outputs[n].is_held != 0, type_bytes(outputs[n].type));
    }
    for (uint32_t n = 0; n < io->protocols; n++)
        memcpy(io->taken + (size_t)n * io->output_bytes, io->safe, io->output_bytes);
    return WEIR_IO_OK;
}

enum weir_io_error weir_io_open(const char *path, struct weir_io **io)
{
    *io = NULL;
    struct weir_io *this = calloc(1, sizeof *this);
    if (!this)
        return WEIR_IO_NO_MEMORY;
    this->file = open(path, O_RDWR | O_CLOEXEC);
    enum weir_io_error error = this->file < 0 ? WEIR_IO_NO_FILE : map(this);
    if (!error && flock(this->file, LOCK_EX | LOCK_NB))
        error = WEIR_IO_TAKEN;
    if (!error) {
        atomic_store_explicit(header(this, W_APPLICATION), (uint32_t)getpid(), memory_order_relaxed);
        error = allocate(this);
        if (error)
            atomic_store_explicit(header(this, W_APPLICATION), 0, memory_order_relaxed);
    }
    if (error) {
        // Without the mark that a close leaves: the memory is another's.
        if (this->memory)
            munmap(this->memory, this->bytes);
        this->memory = NULL;
        weir_io_close(this);
        return error;
    }
    *io = this;
    return WEIR_IO_OK;
}

void weir_io_close(struct weir_io *io)
{
    if (!io)
        return;
    if (io->memory) {
        atomic_store_explicit(header(io, W_APPLICATION), 0, memory_order_relaxed);
        munmap(io->memory, io->bytes);
    }
    if (io->file >= 0)
        close(io->file);
    free(io->image);
    free(io->safe);
    free(io->held);
    free(io->taken);
    free(io->state);
    free(io);
}

uint32_t weir_io_application(const char *path)
{
    uint32_t words[W_APPLICATION + 1] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    bool is_whole = pread(file, words, sizeof words, 0) == (ssize_t)sizeof words;
    close(file);
    return is_whole && words[W_MAGIC] == MAGIC ? words[W_APPLICATION] : 0;
}

bool weir_io_is_replaced(const struct weir_io *io)
{
    return atomic_load_explicit(header(io, W_REPLACED), memory_order_acquire) != 0;
}

const char *weir_io_protocol_name(const struct weir_io *io, size_t protocol)
{
    return protocol < io->protocols ? io->records[protocol].name : NULL;
}

const char *weir_io_input_name(const struct weir_io *io, size_t input)
{
    return input < io->inputs ? io->records[io->protocols + input].name : NULL;
}

const char *weir_io_output_name(const struct weir_io *io, size_t output)
{
    return output < io->outputs ? io->records[(size_t)io->protocols + io->inputs + output].name : NULL;
}

static struct weir_io_point find(const struct record *records, uint32_t count, const char *name, bool is_output)
{
    for (uint32_t n = 0; n < count; n++) {
        const struct record *record = &records[n];
        if (!strcmp(record->name, name)) {
            int32_t owner = is_output && record->owner != NOBODY ? (int32_t)record->owner : -1;
            return (struct weir_io_point){true, is_output, (enum weir_io_type)record->type, record->offset, owner};
        }
    }
    return (struct weir_io_point){.owner = -1};
}

struct weir_io_point weir_io_input(const struct weir_io *io, const char *name)
{
    return find(io->records + io->protocols, io->inputs, name, false);
}

struct weir_io_point weir_io_output(const struct weir_io *io, const char *name)
{
    return find(io->records + io->protocols + io->inputs, io->outputs, name, true);
}

// Whether a handle is one of this memory.
static bool is_within(struct weir_io_point point, size_t image)
{
    return point.exists && point.offset <= image && image - point.offset >= type_bytes(point.type);
}

bool weir_io_set(struct weir_io *io, struct weir_io_point input, double value)
{
    static const double low[] = {0, 0, INT8_MIN, 0, INT16_MIN, 0, INT32_MIN};
    static const double high[] = {1, UINT8_MAX, INT8_MAX, UINT16_MAX, INT16_MAX, UINT32_MAX, INT32_MAX};
    if (input.is_output || !is_within(input, io->input_bytes) || input.type > WEIR_IO_F32)
        return false;
    uint8_t *at = io->image + input.offset;
    if (input.type == WEIR_IO_F32) {
        float single = (float)value;
        memcpy(at, &single, sizeof single);
        return true;
    }
    if (!(value >= low[input.type] && value <= high[input.type]) || value != (double)(int64_t)value)
        return false;
    uint32_t whole = (uint32_t)(int64_t)value;
    uint16_t half = (uint16_t)whole;
    uint8_t byte = (uint8_t)whole;
    size_t bytes = type_bytes(input.type);
    memcpy(at, bytes == 1 ? (void *)&byte : bytes == 2 ? (void *)&half : (void *)&whole, bytes);
    return true;
}

void weir_io_publish(struct weir_io *io, bool good)
{
    struct stamp stamp = {.at_ns = now_ns(), .state = good ? WEIR_IO_VALID : 0};
    for (size_t n = 0; n < io->protocols; n++) {
        size_t at = inputs_at(io, n);
        _Atomic uint32_t *rotation = word_at(io, at);
        uint32_t back = atomic_load_explicit(rotation, memory_order_relaxed) & 3;
        uint8_t *slot = slot_at(io, at, back, io->input_bytes);
        memcpy(slot, &stamp, sizeof stamp);
        memcpy(slot + sizeof stamp, io->image, io->input_bytes);
        rotate_in(rotation);
    }
}

void weir_io_refresh(struct weir_io *io)
{
    uint64_t now = now_ns();
    for (size_t n = 0; n < io->protocols; n++) {
        size_t at = outputs_at(io, n);
        const uint8_t *slot = slot_at(io, at, rotate_out(word_at(io, at)), io->output_bytes);
        uint8_t *image = io->taken + n * io->output_bytes;
        struct stamp stamp;
        memcpy(&stamp, slot, sizeof stamp);
        memcpy(image, slot + sizeof stamp, io->output_bytes);
        bool is_stale = now > stamp.at_ns && now - stamp.at_ns > io->stale_ns;
        io->state[n] = is_stale ? 0 : stamp.state;
        for (size_t byte = 0; is_stale && byte < io->output_bytes; byte++)
            if (!io->held[byte])
                image[byte] = io->safe[byte];
    }
}

uint32_t weir_io_state(const struct weir_io *io, size_t protocol)
{
    return protocol < io->protocols ? io->state[protocol] : 0;
}

bool weir_io_is_valid(const struct weir_io *io, struct weir_io_point output)
{
    return output.is_output && output.owner >= 0 && weir_io_state(io, (size_t)output.owner) & WEIR_IO_VALID;
}

double weir_io_get(const struct weir_io *io, struct weir_io_point output)
{
    if (!output.is_output || !is_within(output, io->output_bytes) || output.owner >= (int64_t)io->protocols)
        return 0;
    const uint8_t *image = output.owner < 0 ? io->safe : io->taken + (size_t)output.owner * io->output_bytes;
    uint8_t bytes[4] = {0};
    memcpy(bytes, image + output.offset, type_bytes(output.type));
    uint16_t half;
    uint32_t word;
    float single;
    memcpy(&half, bytes, sizeof half);
    memcpy(&word, bytes, sizeof word);
    memcpy(&single, bytes, sizeof single);
    switch (output.type) {
    case WEIR_IO_BOOL:
        return bytes[0] != 0;
    case WEIR_IO_U8:
        return bytes[0];
    case WEIR_IO_I8:
        return (int8_t)bytes[0];
    case WEIR_IO_U16:
        return half;
    case WEIR_IO_I16:
        return (int16_t)half;
    case WEIR_IO_U32:
        return word;
    case WEIR_IO_I32:
        return (int32_t)word;
    default:
        return single;
    }
}
