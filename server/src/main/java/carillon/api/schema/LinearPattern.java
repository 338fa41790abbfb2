package carillon.api.schema;

import carillon.model.Echo;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import com.networknt.schema.regex.RegularExpression;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import org.jspecify.annotations.Nullable;

/**
 * A regular expression of a tenant, on an engine whose time grows with the length of the text and
 * no faster.
 */
final class LinearPattern implements RegularExpression {

  private static final int MAX_CHARS = 1_000;

  /** Of the program that it becomes: {@code (a{1000}){1000}} is short and has a million. */
  private static final int MAX_INSTRUCTIONS = 5_000;

  /** As much memory as the table of a class such as {@code \p{L}}, which is one instruction. */
  private static final int INSTRUCTIONS_PER_NAMED_CLASS = 40;

  /** Instructions looked at in the time of one step. */
  private static final int INSTRUCTIONS_PER_STEP = 8;

  private static final java.util.regex.Pattern REPEAT =
      java.util.regex.Pattern.compile("\\{([0-9]{1,9})(,([0-9]{0,9}))?}");

  private static final java.util.regex.Pattern NAMED_CLASS =
      java.util.regex.Pattern.compile("\\\\[pP]");

  private static final java.util.regex.Pattern UNICODE_ESCAPE =
      java.util.regex.Pattern.compile(
          "\\\\(?:u([0-9A-Fa-f]{4})|.)", java.util.regex.Pattern.DOTALL);

  private final Pattern pattern;

  private LinearPattern(Pattern pattern) {
    this.pattern = pattern;
  }

  /**
   * As JSON Schema writes them (ECMA-262), but for what no linear engine can do.
   *
   * @throws IllegalArgumentException with a message for the tenant
   */
  static LinearPattern compile(String regex) {
    if (regex.length() > MAX_CHARS) {
      throw new IllegalArgumentException("is a pattern of more than " + MAX_CHARS + " characters");
    }
    if (instructions(regex) > MAX_INSTRUCTIONS) {
      throw new IllegalArgumentException("is a pattern that repeats too much");
    }
    try {
      return new LinearPattern(Pattern.compile(translated(regex)));
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "is not a pattern that can be used, look-around and back-references cannot: "
              + Echo.of(e.getDescription() + " at " + e.getPattern()),
          e);
    }
  }

  /** About how many instructions take as much memory, counted without compiling it. */
  static long weight(String regex) {
    return instructions(regex)
        + INSTRUCTIONS_PER_NAMED_CLASS * NAMED_CLASS.matcher(regex).results().count();
  }

  /** The engine writes the character with a given number in another way. */
  private static String translated(String regex) {
    return UNICODE_ESCAPE
        .matcher(regex)
        .replaceAll(match -> Matcher.quoteReplacement(translated(match)));
  }

  private static String translated(MatchResult escape) {
    if (escape.group().equals("\\Q")) {
      // ECMA-262 has none, and what the engine takes as text then we would count as groups.
      throw new IllegalArgumentException("is a pattern with \\Q, which cannot be used");
    }
    return escape.group(1) == null ? escape.group() : "\\x{" + escape.group(1) + "}";
  }

  /**
   * About how long the program will be, counted before the engine writes it: it would only find out
   * by doing so.
   */
  private static long instructions(String regex) {
    Deque<Long> outside = new ArrayDeque<>();
    long here = 0; // in the innermost open group
    long last = 0; // of the part that a repeat would be about
    for (int i = 0; i < regex.length(); i++) {
      switch (regex.charAt(i)) {
        case '(' -> {
          outside.push(here);
          here = 0;
          last = 0;
        }
        case ')' -> {
          last = here + 2;
          here = last + (outside.isEmpty() ? 0 : outside.pop());
        }
        case '{' -> {
          Matcher repeat = REPEAT.matcher(regex).region(i, regex.length());
          if (repeat.lookingAt()) {
            long times = Math.max(number(repeat.group(1)), number(repeat.group(3)));
            here += last * Math.max(0, times - 1);
            last *= Math.max(1, times);
            i = repeat.end() - 1;
          } else {
            here += 1;
            last = 1;
          }
        }
        case '[' -> {
          i = endOfClass(regex, i);
          here += 1;
          last = 1;
        }
        case '\\' -> {
          i = endOfEscape(regex, i);
          here += 1;
          last = 1;
        }
        case '*', '+', '?' -> here += 1;
        case '|' -> {
          here += 1;
          last = 0;
        }
        default -> {
          here += 1;
          last = 1;
        }
      }
      if (here > MAX_INSTRUCTIONS) {
        return here;
      }
    }
    return here;
  }

  private static long number(@Nullable String digits) {
    return digits == null || digits.isEmpty() ? 0 : Long.parseLong(digits);
  }

  private static int endOfClass(String regex, int start) {
    int i = start + 1;
    i += regex.startsWith("^", i) ? 1 : 0;
    i += regex.startsWith("]", i) ? 1 : 0;
    while (i < regex.length() && regex.charAt(i) != ']') {
      int endOfName = regex.startsWith("[:", i) ? regex.indexOf(":]", i) : -1;
      if (endOfName >= 0) {
        i = endOfName + 2; // such as [:alpha:], whose bracket does not end the class
      } else {
        i += regex.charAt(i) == '\\' ? 2 : 1;
      }
    }
    return i;
  }

  /** Over the braces of {@code \p{Greek}} and {@code \x{1F514}}, which are no repeats. */
  private static int endOfEscape(String regex, int start) {
    boolean hasName = start + 2 < regex.length() && regex.charAt(start + 2) == '{';
    boolean isNamed = hasName && "pPx".indexOf(regex.charAt(start + 1)) >= 0;
    int end = isNamed ? regex.indexOf('}', start) : start + 1;
    return end < 0 ? regex.length() : end;
  }

  @Override
  public boolean matches(String value) {
    long instructions = (long) value.length() * pattern.programSize();
    CheckBudget.CURRENT.get().spend(1 + instructions / INSTRUCTIONS_PER_STEP);
    return pattern.matcher(value).find();
  }
}
