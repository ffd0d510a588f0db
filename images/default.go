package images

// Default is the image of skills that name none: the configuration's for the kind of their script, and [Builtin] for those
// that hotcell's own engine runs. "" where there is none.
func Default(byKind map[string]string, kind string) string {
	if ref := byKind[kind]; ref != "" {
		return ref
	}
	if kind == "js" || kind == "agent" {
		return Builtin
	}
	return ""
}
