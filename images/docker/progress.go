package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotcell/hotcell/images"
)

// message is one of the JSON values that a pull or a load answers with. A pull that fails on the way has begun with status
// 200.
type message struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Detail struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Error       string `json:"error"`
	ErrorDetail struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
}

// follow reads a pull's answer to its end, since leaving early would cancel it, and returns the first error in it.
func follow(body io.Reader, m *meter) error {
	dec := json.NewDecoder(body)
	var failure error
	for {
		var p message
		err := dec.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return failure
		case err != nil:
			return errors.Join(failure, fmt.Errorf("the engine's answer was cut: %w", err))
		case failure != nil:
		case p.ErrorDetail.Message != "":
			failure = errors.New(p.ErrorDetail.Message)
		case p.Error != "":
			failure = errors.New(p.Error)
		default:
			m.see(p)
		}
	}
}

const (
	maxLayers = 1000                   // whose progress is followed
	tellEvery = 200 * time.Millisecond // at most, unless the step is another
)

// meter adds up the progress of layers. A nil meter sees nothing.
type meter struct {
	ref    string
	tell   func(images.Progress)
	layers map[string][2]int64 // by id: bytes that are there, and all
	last   images.Progress
	told   time.Time
}

func newMeter(ref string, tell func(images.Progress)) *meter {
	return &meter{ref: ref, tell: tell, layers: map[string][2]int64{}}
}

func (m *meter) see(p message) {
	if m == nil {
		return
	}
	now := images.Progress{Ref: m.ref, Step: m.last.Step}
	layer, known := m.layers[p.ID]
	switch p.Status {
	case "Downloading":
		now.Step = "downloading"
		layer = [2]int64{p.Detail.Current, max(p.Detail.Total, p.Detail.Current)}
	case "Verifying Checksum", "Download complete":
		layer[0] = layer[1]
	case "Extracting":
		now.Step = "extracting"
		layer[0] = layer[1]
	default:
		return
	}
	if known || len(m.layers) < maxLayers {
		m.layers[p.ID] = layer
	}
	for _, l := range m.layers {
		now.Done += max(0, l[0])
		now.Total += max(0, l[1])
	}
	if now == m.last || now.Step == m.last.Step && time.Since(m.told) < tellEvery {
		return
	}
	m.last, m.told = now, time.Now()
	m.tell(now)
}
