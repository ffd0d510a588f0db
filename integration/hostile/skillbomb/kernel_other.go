//go:build !amd64

package main

func compatGetpid() int32 { return -1 }

// machineOf are the calls that this architecture alone has.
func machineOf() tries { return nil }
