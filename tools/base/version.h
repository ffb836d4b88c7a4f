/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The version of the command. The build writes its source. */
#ifndef RLT_TOOLS_BASE_VERSION_H
#define RLT_TOOLS_BASE_VERSION_H

/* "0.1.0"; "0.1.0+g1a30a882" if built from that commit; "0.1.0+g1a30a882.dirty" if from changed sources. */
extern const char rlt_version[];

#endif
