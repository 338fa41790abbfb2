package carillon.cli;

import carillon.cli.Console.Colour;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One line of a page, in pieces with a colour each. */
public record Line(List<Piece> pieces) {

  private static final int NAME_WIDTH = 10;
  private static final String ELLIPSIS = "…";

  /** Text without control characters. */
  public record Piece(String text, @Nullable Colour colour) {}

  public Line {
    pieces = List.copyOf(pieces);
  }

  public static Line of(Piece... pieces) {
    return new Line(List.of(pieces));
  }

  /** A value with its name before it. */
  public static Line of(String name, String value) {
    return of(name, value, null);
  }

  public static Line of(String name, String value, @Nullable Colour colour) {
    return of(
        new Piece(name + " ".repeat(NAME_WIDTH - name.length()), Colour.FAINT),
        new Piece(value, colour));
  }

  public static final Line EMPTY = of();

  /** Renders the line for a console, truncated to its width. */
  public String print(Console console, int width) {
    StringBuilder line = new StringBuilder();
    int length = pieces.stream().mapToInt(piece -> piece.text().length()).sum();
    int room = length <= width ? width : width - 1;
    for (Piece piece : pieces) {
      String text = piece.text().substring(0, Math.min(room, piece.text().length()));
      room -= text.length();
      if (!text.isEmpty()) {
        line.append(piece.colour() == null ? text : console.coloured(piece.colour(), text));
      }
    }
    return length <= width ? line.toString().stripTrailing() : line.append(ELLIPSIS).toString();
  }
}
