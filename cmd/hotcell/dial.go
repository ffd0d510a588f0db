package main

import (
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/rest"
)

// dial returns the control of the daemon at base. Nothing is asked yet.
func dial(base string) (control.Control, error) { return rest.NewClient(base) }
