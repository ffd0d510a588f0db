//go:build !amd64

package main

func compatGetpid() {}

// machineOf are the calls that this architecture alone has.
func machineOf() tries { return nil }
