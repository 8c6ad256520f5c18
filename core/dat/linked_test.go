package dat

// C's side of groups calls these parts, which only capi brings into the library.
import (
	_ "lapi/cshim/coll"
	_ "lapi/cshim/node"
)
