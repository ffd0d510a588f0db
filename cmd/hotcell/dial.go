package main

import (
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/rest"
)

// dial returns the control of the daemon at base, with a token or none. Nothing is asked yet.
func dial(base string, token auth.Secret) (control.Control, error) {
	return rest.NewClient(base, token)
}
