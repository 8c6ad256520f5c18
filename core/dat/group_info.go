package dat

import "slices"

// GroupInfo is a program's description of the nodes (DAT_IB_COLLECTIVE_GROUP). Lists that are nil
// are not known; without members, nothing is.
type GroupInfo struct {
	LocalSize, LocalRank       int
	ExternalSize, ExternalRank int
	LocalRanks                 []int32 // [LocalSize]
	ExternalRanks              []int32 // [ExternalSize]
	Intranode, Internode       []int32 // [size]
}

// legal says whether i can describe a group of size members, as member self sees it. Whether it
// does is checked when the members are connected.
func (i *GroupInfo) legal(size, self int) bool {
	return side(i.LocalSize, i.LocalRank, 0, i.LocalRanks, i.Intranode, size, self) &&
		side(i.ExternalSize, i.ExternalRank, -1, i.ExternalRanks, i.Internode, size, self)
}

// side checks a number of members, the place of this one among them, which is lowest or more, their
// ranks, and the places of all ranks.
func side(count, place, lowest int, ranks, places []int32, size, self int) bool {
	if count == 0 && ranks == nil && places == nil {
		return true
	}
	if count < 1 || count > size || place < lowest || place >= count {
		return false
	}
	for k, r := range ranks {
		if r < 0 || int(r) >= size || slices.Contains(ranks[:k], r) ||
			places != nil && places[r] != int32(k) {
			return false
		}
	}
	if ranks != nil && (place >= 0 && int(ranks[place]) != self ||
		place < 0 && slices.Contains(ranks, int32(self))) {
		return false
	}
	for r, p := range places {
		if p < -1 || int(p) >= count || p >= 0 && ranks != nil && int(ranks[p]) != r {
			return false
		}
	}
	return places == nil || int(places[self]) == place
}

// leads says whether this member is to stand for its node, whose ranks are local. A description of
// other nodes than the actual ones is ignored.
func (i *GroupInfo) leads(local []int) bool {
	if i.ExternalRank < 0 || i.ExternalSize == 0 || i.LocalSize != len(local) {
		return false
	}
	for _, r := range i.LocalRanks {
		if !slices.Contains(local, int(r)) {
			return false
		}
	}
	return true
}
