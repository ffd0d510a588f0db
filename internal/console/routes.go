package console

import "github.com/hotcell/hotcell/internal/auth"

// Route is a route of the console, and who may take it.
type Route struct {
	Pattern string     // of [http.ServeMux]
	Scope   auth.Scope // "": everybody, signed in or not
	People  bool       // not who may speak as one agent alone
}

// Routes are all that there are.
func (c *Console) Routes() []Route {
	var all []Route
	for _, p := range c.pages() {
		all = append(all, Route{p.pattern, p.scope, p.people})
	}
	return all
}
