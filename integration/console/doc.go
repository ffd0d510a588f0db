// Package console looks at the web console with a real browser: Debian's chromium, driven over its own protocol, against a real
// `hotcell serve` with real calls behind it. Each page is walked in dark and light, wide and narrow, with and without scripts,
// judged by axe-core, and fed with what a hostile skill would say.
//
// scripts/chromium and scripts/axe bring what it needs. HOTCELL_SHOTS=DIR keeps the pictures of all pages in DIR.
package console
