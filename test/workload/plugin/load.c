/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are no plug-ins: each is refused by its name, and nothing is loaded. */
#ifdef __ELF__
#include <elf.h>
#endif
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/plugin/plugin.h"

static void refuse(const void *bytes, size_t length, const char *what)
{
    char path[] = "/tmp/ringlet-object-XXXXXX";
    const rlt_plugin_loaded *out = (const rlt_plugin_loaded *)(const void *)&out; /* nothing is left of it */
    rlt_error err = {0};
    test_write_new(path, bytes, length);
    int rc = rlt_plugin_load(path, &out, &err);
    unlink(path);
    if (rc != RLT_EMALFORMED || strcmp(err.where, path) != 0 || strncmp(err.what, what, strlen(what)) != 0)
        fail_msg("%d at '%s': '%s', expected '%s'", rc, err.where, err.what, what);
    assert_null(out);
    assert_null(rlt_plugin_at(0));
}

static void no_objects(void **state)
{
#ifdef __ELF__
    static const char text[] = "#!/bin/sh\necho a script that is longer than the header of a shared object\n";
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
    } object = {.head = {.e_ident = ELFMAG,
                         .e_type = ET_DYN,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1}};
    (void)state;
    object.head.e_ident[EI_CLASS] = ELFCLASS64;
    refuse("", 0, "not a plug-in: not a shared object");
    refuse(text, sizeof text - 1, "not a plug-in: not a shared object");
    refuse(ELFMAG, SELFMAG, "not a plug-in: not a shared object");
    refuse(&object, sizeof object - 1, "not a plug-in: the shared object is truncated or damaged");
    object.segment.p_filesz = sizeof object + 1;
    refuse(&object, sizeof object, "not a plug-in: the shared object is truncated or damaged");
    object.segment.p_offset = sizeof object + 1;
    object.segment.p_filesz = 0;
    refuse(&object, sizeof object, "not a plug-in: the shared object is truncated or damaged");
    object.segment.p_offset = 0;
    object.head.e_type = ET_EXEC;
    refuse(&object, sizeof object, "not a plug-in: the shared object is truncated or damaged");
    object.head.e_type = ET_DYN; /* whole, but of no machine */
    refuse(&object, sizeof object, "cannot be loaded: ");
    object.head.e_ident[EI_CLASS] = ELFCLASS32;
    refuse(&object, sizeof object, "cannot be loaded: ");
#else
    (void)state;
    refuse("text", 4, "cannot be loaded: ");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_objects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
