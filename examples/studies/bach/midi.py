#!/usr/bin/env python3
"""Turns a chorale's text into a MIDI file, or back.

    midi.py write TEXT OUT.mid
    midi.py read FILE.mid

TEXT is a file (- for standard input) that holds one chorale, and OUT.mid gets a track for each voice. Notes of
equal pitch in a row become one long note, since the data do not say which of them are struck again. `read`
prints the text; it takes files with four tracks besides the
tempo's, a voice each, on the 16th grid.
Needs Python's mido (Debian's python3-mido).
"""

import argparse

import mido

import notation

TICKS = 120  # of a 16th
TEMPO = 72  # quarters a minute
CHOIR = 52  # General MIDI's "Choir Aahs", counted from 0


def track_of(voice, channel):
    """Returns the track of a voice, whose end is that of the chorale even if it rests there."""
    track = mido.MidiTrack([mido.MetaMessage("track_name", name=notation.VOICES[channel])])
    track.append(mido.Message("program_change", channel=channel, program=CHOIR))
    now = 0
    for start, end, pitch in notation.notes(voice):
        track.append(mido.Message("note_on", channel=channel, note=pitch, time=(start - now) * TICKS))
        track.append(mido.Message("note_off", channel=channel, note=pitch, time=(end - start) * TICKS))
        now = end
    track.append(mido.MetaMessage("end_of_track", time=(len(voice) - now) * TICKS))
    return track


def write(steps, path):
    file = mido.MidiFile(type=1, ticks_per_beat=4 * TICKS)
    file.tracks.append(mido.MidiTrack([mido.MetaMessage("set_tempo", tempo=mido.bpm2tempo(TEMPO))]))
    for channel, voice in enumerate(zip(*steps)):
        file.tracks.append(track_of(voice, channel))
    file.save(path)


def voice_of(track, ticks):
    """Returns the pitch of each 16th of a track."""

    def grid(time):
        if time % ticks:
            raise ValueError(f"an event at tick {time}, off the 16th grid")
        return time // ticks

    now, voice, sounding = 0, [], None
    for message in track:
        now += message.time
        if message.type not in ("note_on", "note_off", "end_of_track"):
            continue
        voice += [sounding] * (grid(now) - len(voice))
        if message.type == "note_on" and message.velocity:
            if sounding is not None:
                raise ValueError(f"two notes at a time at tick {now}")
            sounding = message.note
        elif message.type != "end_of_track" and message.note == sounding:
            sounding = None
    return voice


def read(path):
    try:
        file = mido.MidiFile(path)
    except (EOFError, IndexError) as error:
        raise ValueError(f"{path}: no MIDI file: {error}") from None
    if file.ticks_per_beat % 4:
        raise ValueError(f"{path}: {file.ticks_per_beat} ticks a quarter, expected a multiple of 4")
    tracks = [track for track in file.tracks if not all(message.is_meta for message in track)]
    if len(tracks) != len(notation.VOICES):
        raise ValueError(f"{path}: {len(tracks)} tracks of voices, expected {len(notation.VOICES)}")
    voices = [voice_of(track, file.ticks_per_beat // 4) for track in tracks]
    length = max(map(len, voices))
    return zip(*(voice + [None] * (length - len(voice)) for voice in voices))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("write", help="write a MIDI file")
    command.add_argument("text")
    command.add_argument("out")
    command = commands.add_parser("read", help="print a MIDI file's text")
    command.add_argument("file")
    flags = parser.parse_args()
    if flags.command == "write":
        write(notation.read_chorale(flags.text), flags.out)
    else:
        print(notation.line(read(flags.file)))


if __name__ == "__main__":
    notation.run(main)
