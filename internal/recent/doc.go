// Package recent keeps what is believed for a while, such as the facts about an engine. It does not know where that comes from.
package recent
