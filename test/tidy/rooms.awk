# SPDX-License-Identifier: GPL-3.0-or-later
# Compares the arrows between rooms in the sources with the table: awk -f rooms.awk test/rooms.txt FILES.
# Prints violations, a line each, beginning with the broken rule:
#   arrow     a file includes a header of a room that the table does not allow its room
#   door      a file includes a header of another room that is neither the room's door nor public
#   room      a room that is missing in the table, or only in the table
#   idle      the table allows an arrow that nobody uses: remove it
#   circle    rooms (by the table) or files (by their includes) that lead back to themselves
# A source and its header count as one file. So do internal headers: NAME_internal.h goes with NAME, the room's
# internal.h with its door.

function room_of(file) {
    sub(/\/[^\/]*$/, "", file)
    return file
}

function unit_of(file,    room) {
    room = room_of(file)
    sub(/\.[ch]$/, "", file)
    if (file == room "/internal" && room in door) {
        file = door[room]
        sub(/\.h$/, "", file)
    }
    sub(/_internal$/, "", file)
    return file in one ? one[file] : file
}

# Removes nodes without incoming or outgoing edges until none is left, and names the rest: the circles.
function circles(what, nodes, edges,    n, i, a, part, changed, out_of, in_to, text) {
    do {
        changed = 0
        split("", out_of)
        split("", in_to)
        for (i in edges) {
            split(i, part, SUBSEP)
            if (part[1] in nodes && part[2] in nodes) {
                out_of[part[1]] = 1
                in_to[part[2]] = 1
            }
        }
        for (a in nodes)
            if (!(a in out_of) || !(a in in_to)) {
                delete nodes[a]
                changed = 1
            }
    } while (changed)
    n = 0
    for (i in edges) {
        split(i, part, SUBSEP)
        if (part[1] in nodes && part[2] in nodes && part[1] < part[2] && (part[2], part[1]) in edges) {
            print "circle " what ": " part[1] " and " part[2] " include each other"
            n++
        }
    }
    for (a in nodes)
        text = text " " a
    if (text != "" && !n)
        print "circle " what ": some of" text
}

FILENAME ~ /rooms\.txt$/ {
    sub(/#.*/, "")
    if ($1 == "room") {
        room = $2
        rooms[room] = 1
        if ($3 == "door")
            door[room] = room "/" $4
    } else if ($1 == "may")
        for (i = 2; i <= NF; i++)
            may[room, $i] = 1
    else if ($1 == "public")
        for (i = 2; i <= NF; i++)
            public[room "/" $i] = 1
    else if ($1 == "one")
        for (i = 3; i <= NF; i++)
            one[$i] = $2
    else if ($1 == "table")
        table[$2] = 1
    else if (NF)
        print "room: test/rooms.txt:" FNR ": what is '" $1 "'?"
    next
}

FNR == 1 {
    room = room_of(FILENAME)
    there[room] = 1
    if (!(room in rooms) && !(room in told)) {
        told[room] = 1
        print "room " room " is new: add 'room " room " door HEADER' to test/rooms.txt, and what it may include"
    }
}

match($0, /^#include "[^"]*"/) {
    header = substr($0, 11, RLENGTH - 11)
    to = room_of(header)
    if (to != room) {
        if (room in rooms && !((room, to) in may))
            print "arrow " FILENAME " includes " header ": if that is meant, add '" to "' to 'may' of " room " in test/rooms.txt"
        used[room, to] = 1
        if (header != door[to] && !(header in public))
            print "door " FILENAME " includes " header ": include " door[to] ", or add '" substr(header, length(to) + 2) "' to 'public' of " to " in test/rooms.txt"
        wanted[header] = 1
    }
    a = unit_of(FILENAME)
    b = unit_of(header)
    nodes[a] = nodes[b] = 1
    if (a != b && !(FILENAME in table))
        edges[a, b] = 1
}

END {
    for (r in rooms) {
        if (!(r in there))
            print "room " r " is not there"
        room_nodes[r] = 1
    }
    for (i in may) {
        split(i, part, SUBSEP)
        if (part[1] in there && !(i in used))
            print "idle " part[1] " does not include " part[2] ": take it out of test/rooms.txt"
        room_edges[i] = 1
    }
    for (h in public)
        if (!(h in wanted))
            print "idle " h " is not included by another room: it need not be public"
    circles("of rooms", room_nodes, room_edges)
    circles("of files", nodes, edges)
}
