// Command word-count is a skill that speaks the wall itself (skill.yaml: "frames: true"): its image holds this one static
// program and nothing else. It is the example of such a skill, and so it uses the standard library alone and writes the
// lines out; scripts/image-word-count builds the image. As a Dockerfile the image would be
//
//	FROM scratch
//	COPY word-count /word-count
//	ENTRYPOINT ["/word-count"]
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "word-count:", err)
		os.Exit(1)
	}
}
