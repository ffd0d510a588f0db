// Package compile turns an effective policy and a workload into the spec of a cell: one small function a control, in a
// fixed order, each of which sets one part of the OCI runtime-spec.
//
// It is pure: no engine, no file, no clock. What a control needs and cannot have is an error that wraps
// [sandbox.ErrUnsupported], never a weaker spec. All that comes from an image or a skill (environment, volumes, command)
// is hostile here: it is bounded, checked and overridden.
//
// The root is read-only and there is no /tmp of a cell's own: HOME, TMPDIR and the working folder are /workspace. What an
// image has at /tmp it can read and not write.
package compile
