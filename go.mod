module lapi

go 1.26
