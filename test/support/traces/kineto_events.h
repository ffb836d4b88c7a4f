/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Macros that write the events of a Kineto recording. */
#ifndef RLT_TEST_SUPPORT_TRACES_KINETO_EVENTS_H
#define RLT_TEST_SUPPORT_TRACES_KINETO_EVENTS_H

#define EVENT(cat, name, pid, tid, ts, dur, args)                                                            \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts  \
    ",\"dur\":" #dur ",\"args\":{" args "}},"
#define CORR(n)                     "\"correlation\":" #n
#define ON(stream, n)               "\"device\":0,\"stream\":" #stream ",\"correlation\":" #n
#define STEP(n, ts, dur)            EVENT("user_annotation", "ProfilerStep#" #n, 1, 1, ts, dur, "")
#define CALL(name, tid, ts, dur, n) EVENT("cuda_runtime", name, 1, tid, ts, dur, CORR(n))
#define LAUNCH(tid, ts, dur, n)     CALL("cudaLaunchKernel", tid, ts, dur, n)
#define KERNEL(name, s, ts, dur, n) EVENT("kernel", name, 0, s, ts, dur, ON(s, n))
#define OP(name, tid, ts, dur)      EVENT("cpu_op", name, 1, tid, ts, dur, "")
#define TRACE(events)               "{\"traceEvents\":[" events "{\"ph\":\"i\",\"pid\":\"x\"}]}"

#endif
