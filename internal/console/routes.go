package console

// Routes are the patterns of all pages that there are, as [http.ServeMux] takes them.
func (c *Console) Routes() []string {
	var all []string
	for _, p := range c.pages() {
		all = append(all, p.pattern)
	}
	return all
}
