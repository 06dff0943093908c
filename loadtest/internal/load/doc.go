// Package load sends operations to services, and keeps their results in the form that package history compares with the
// rows.
//
// [NewRequest] makes an operation a request over HTTP, and [Services.Try] sends it to a process once. There are two ways to send:
//
//   - In a closed loop callers wait for an answer before they ask again. [Services.Ask] asks one process after the other until
//     the answer is final; [Buy] has callers buy from any [Seller] until a window is over.
//   - In an open loop requests are sent at planned times by [Services.Run]. [Times] plans them, as a pure function of a seed. Latency counts from the planned time. docs/LAB.md says why, and what the lag is.
//
// Either way the [Result] has each operation with its attempts ([Closed] makes that of a closed loop).
// A [Drill] is a run from its first request to its report.
package load
