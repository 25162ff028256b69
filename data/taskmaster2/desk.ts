/** The service that the agent uses: a program that lists offers and stores bookings. */
export const deskPy = `#!/usr/bin/env python3
"""The booking desk.

  desk offers [WORD ...]   list offers that have all of these words
  desk show OFFER          show one offer
  desk book OFFER          book it
  desk bookings            list what is booked
  desk cancel BOOKING      take a booking back
"""
import json, os, sys

here = os.path.dirname(os.path.abspath(__file__))
state = os.path.join(here, "bookings.json")
with open(os.path.join(here, "offers.json")) as file:
    offers = json.load(file)


def booked():
    if not os.path.exists(state):
        return {"next": 1, "bookings": []}
    with open(state) as file:
        return json.load(file)


def save(data):
    with open(state + ".new", "w") as file:
        json.dump(data, file, indent=1)
    os.replace(state + ".new", state)


def line(offer):
    return offer + "  " + "; ".join(f"{name}: {value}" for name, value in offers[offer].items())


def main(words):
    command, given = (words[0], words[1:]) if words else ("help", [])
    if command == "offers":
        for offer in sorted(offers):
            if all(word.lower() in line(offer).lower() for word in given):
                print(line(offer))
    elif command in ("show", "book") and len(given) == 1:
        if given[0] not in offers:
            sys.exit(f"no offer is called {given[0]}")
        if command == "book":
            data = booked()
            data["bookings"].append({"booking": f"B{data['next']}", "offer": given[0]})
            data["next"] += 1
            save(data)
        print(line(given[0]))
    elif command == "bookings":
        for each in booked()["bookings"]:
            print(each["booking"] + "  " + line(each["offer"]))
    elif command == "cancel" and len(given) == 1:
        data = booked()
        kept = [each for each in data["bookings"] if each["booking"] != given[0]]
        if len(kept) == len(data["bookings"]):
            sys.exit(f"no booking is called {given[0]}")
        save({**data, "bookings": kept})
    else:
        print(__doc__.strip())


main(sys.argv[1:])
`

/** Exits with 0 if exactly the right offer is booked, once. */
export const checkDeskPy = `import json, os, sys

path, right = sys.argv[1:3]
if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 1_000_000:
    sys.exit("nothing is booked")
try:
    with open(path, encoding="utf-8") as file:
        bookings = [each["offer"] for each in json.load(file)["bookings"]]
except (ValueError, KeyError, TypeError):
    sys.exit("the bookings cannot be read")
sys.exit(0 if bookings == [right] else f"{len(bookings)} bookings, not the right one alone")
`
