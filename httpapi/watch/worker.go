package watch

// poke has the worker look for watches that are due. It does not block.
func (w *Watches) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
