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
 * A regular expression from a tenant's schema, on an engine whose time is linear in the length of
 * the text.
 */
final class LinearPattern implements RegularExpression {

  private static final int MAX_CHARS = 1_000;

  /** Of the compiled program: {@code (a{1000}){1000}} is short and has a million. */
  private static final int MAX_INSTRUCTIONS = 5_000;

  /** The memory of the table of a class such as {@code \p{L}}, which is one instruction. */
  private static final int INSTRUCTIONS_PER_NAMED_CLASS = 40;

  /** Instructions that run in the time of one step. */
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
   * Compiles a pattern of JSON Schema (ECMA-262), without look-around and back-references.
   *
   * @throws IllegalArgumentException with a message for the tenant
   */
  static LinearPattern compile(String regex) {
    if (regex.length() > MAX_CHARS) {
      throw new IllegalArgumentException("the pattern has more than " + MAX_CHARS + " characters");
    }
    if (instructions(regex) > MAX_INSTRUCTIONS) {
      throw new IllegalArgumentException("the pattern repeats too much");
    }
    try {
      return new LinearPattern(Pattern.compile(translated(regex)));
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "the pattern is invalid or uses look-around or back-references, which are not supported: "
              + Echo.of(e.getDescription() + " at " + e.getPattern()),
          e);
    }
  }

  /** The memory of the compiled pattern in instructions, estimated without compiling it. */
  static long weight(String regex) {
    return instructions(regex)
        + INSTRUCTIONS_PER_NAMED_CLASS * NAMED_CLASS.matcher(regex).results().count();
  }

  /** The engine has another syntax for characters by number. */
  private static String translated(String regex) {
    return UNICODE_ESCAPE
        .matcher(regex)
        .replaceAll(match -> Matcher.quoteReplacement(translated(match)));
  }

  private static String translated(MatchResult escape) {
    if (escape.group().equals("\\Q")) {
      // ECMA-262 does not have it, and the estimate below would count its text as groups.
      throw new IllegalArgumentException("the pattern uses \\Q, which is not supported");
    }
    return escape.group(1) == null ? escape.group() : "\\x{" + escape.group(1) + "}";
  }

  /**
   * Estimates the length of the program before it is compiled: RE2/J has no limit, and would run
   * out of memory.
   */
  private static long instructions(String regex) {
    Deque<Long> outside = new ArrayDeque<>();
    long here = 0; // instructions of the innermost open group
    long last = 0; // instructions of the part that a repeat would apply to
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
        i = endOfName + 2; // such as [:alpha:], whose bracket does not close the class
      } else {
        i += regex.charAt(i) == '\\' ? 2 : 1;
      }
    }
    return i;
  }

  /** Skips the braces of {@code \p{Greek}} and {@code \x{1F514}}, which are not repeats. */
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
