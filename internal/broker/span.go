package broker

// tell puts a request that is over into the call's trace.
func (g *grant) tell(r *record) {
	g.mu.Lock()
	around := g.span
	g.mu.Unlock()
	if !around.On() {
		return
	}
	span := around.Begin("llm", r.began)
	defer span.End()
	span.Text("gen_ai.provider.name", g.plan.to.Name)
	span.Text("gen_ai.request.model", r.model)
	span.Text("http.route", r.endpoint)
	if r.status > 0 {
		span.Number("http.response.status_code", int64(r.status))
	}
	span.Number("gen_ai.usage.input_tokens", r.used.in)
	span.Number("gen_ai.usage.output_tokens", r.used.out)
	if r.reason != "" {
		span.Text("hotcell.reason", r.reason)
		span.Fail(r.reason)
	}
}
