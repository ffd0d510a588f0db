package console

import (
	"github.com/hotcell/hotcell/internal/auth"
)

func (c *Console) overviewPages() []page {
	return []page{{pattern: "GET " + Base + "/{$}", scope: auth.Calls, serve: (*visit).overview}}
}

func (v *visit) overview() error {
	return v.render("overview", "Overview", v.o.Pulse.Pulse(v.ctx()))
}
