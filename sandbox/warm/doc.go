// Package warm is a driver in front of another one: it starts cells ahead of their calls. A cell that waits has reported
// ready and blocks on its stdin; it serves one call and is destroyed like any other. A call gets a waiting cell only if the
// keys of both specs are the same, else a cell made for it.
package warm
