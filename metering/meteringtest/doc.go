// Package meteringtest is the conformance suite of metering stores, and what tests of their callers
// need: a clock that is set by hand, and a store that fails on demand.
//
// Whoever writes a store hands [TestStore] a function that opens an empty one:
//
//	func TestStore(t *testing.T) {
//		meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
//			return mystore.New(mystore.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
//		})
//	}
//
// The store must sell [Plans] and end its leases by the clock. Where it outlives its process it
// also implements reopener, and the suite tests what must survive.
//
// Whoever calls a store tests with [Faulty] what happens when it fails before or after the fact.
package meteringtest
