package console

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hotcell/hotcell/internal/testutil"
)

// axeFault is what axe-core finds.
type axeFault struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		Target         []any
		FailureSummary string
	}
}

// judged has axe-core judge the page, and fails the test with what it calls serious or critical. It is brought into the page
// through the browser's protocol, which no content security policy stops.
func (s *sheet) judged() {
	s.t.Helper()
	testutil.Require(s.t, "axe")
	s.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: testutil.Axe(s.t) + "\n;undefined"})
		return err
	}))
	var found []axeFault
	s.eval(`axe.run(document, {resultTypes: ["violations"], elementRef: false}).then(r => r.violations)`, &found)
	for _, fault := range found {
		if fault.Impact != "serious" && fault.Impact != "critical" {
			continue
		}
		var places []string
		for _, node := range fault.Nodes[:min(len(fault.Nodes), 4)] {
			html := node.HTML
			places = append(places, html[:min(len(html), 300)]+"\n\t\t"+strings.ReplaceAll(node.FailureSummary, "\n", "\n\t\t"))
		}
		s.fault("%s: axe: %s, %s: %s (%d places)\n\t%s", s.where(), fault.Impact, fault.ID, fault.Help, len(fault.Nodes), strings.Join(places, "\n\t"))
	}
}
