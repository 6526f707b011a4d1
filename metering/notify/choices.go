package notify

import "github.com/diagkit/diagkit/metering"

// Kinds returns all kinds of channels.
func Kinds() []Kind { return kinds() }

// Categories returns those that a channel can choose from.
func Categories() []metering.EventCategory { return categories() }
