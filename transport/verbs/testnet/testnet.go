// Package testnet is adapters in the process, for tests of those who use the link: a network that
// fails as they want.
package testnet

import "lapi/transport/verbs/internal/fake"

// Fabric is the network.
type Fabric = fake.Fabric

// Device is one of its adapters.
type Device = fake.Device

// New is a network without adapters; seed is of what it does at random.
func New(seed uint64) *Fabric { return fake.NewFabric(seed) }
