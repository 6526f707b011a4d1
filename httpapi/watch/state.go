package watch

import (
	"encoding/json"
	"fmt"

	"github.com/diagkit/diagkit/metering"
)

// stateKind is that of the records with what is known of the domain of a watch.
const stateKind = "watch_state"

// A state is what is known of a domain, and what is to be confirmed.
type state struct {
	Snapshot
}

func parseState(r metering.Record) (*state, error) {
	s := &state{}
	if err := json.Unmarshal(r.Body, s); err != nil {
		return nil, fmt.Errorf("reading what is known of watch %s: %w", r.ID, err)
	}
	return s, nil
}
