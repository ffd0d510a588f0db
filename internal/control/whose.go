package control

// Whose says whose calls are meant. The zero value is everybody's.
type Whose struct {
	principal string
	only      bool
}

// Only means the calls of one principal alone.
func Only(principal string) Whose { return Whose{principal, true} }

// One returns the principal, and whether only that one's calls are meant.
func (w Whose) One() (principal string, only bool) { return w.principal, w.only }

// Has reports whether calls of a principal are meant.
func (w Whose) Has(principal string) bool { return !w.only || w.principal == principal }

// Limited is a [Control] that can be narrowed.
type Limited interface {
	Control
	// Of returns the control over the calls of one principal alone: for it no others exist, and a request id names the newest
	// call of that principal.
	Of(principal string) Control
}
