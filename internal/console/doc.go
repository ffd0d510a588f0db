// Package console is the web console: what runs, and why it failed, for people with a browser. It stands beside the REST door
// on the same listener, below [Base], and asks the same interfaces under the same authorisation.
//
// Pages are HTML made on the server. They can be read without scripts; with them, htmx swaps parts of a page in place and
// server-sent events keep the live ones up to date. What a skill, a model or a caller says is text on a page, never HTML.
package console
