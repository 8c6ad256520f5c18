package wire

// CardVersion changes with the wire formats of this package and of the links.
const CardVersion = 9
