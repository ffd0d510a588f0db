package console

// stops are all pages, some of them several times: as what is behind them differs.
func stops(s *seeded) []stop {
	_ = s
	return []stop{}
}

// flows are the routes that the tests of flows go through, and which test that is.
func flows() map[string]string {
	return map[string]string{}
}
