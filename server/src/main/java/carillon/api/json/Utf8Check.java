package carillon.api.json;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Checks that bytes are valid UTF-8, in pieces of any length. The JSON parser would accept more
 * than RFC 3629 does (surrogates, overlong forms, UTF-16), so all input is checked here first.
 */
final class Utf8Check {

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final long ONES = 0x0101_0101_0101_0101L;
  private static final long HIGH_BITS = 0x8080_8080_8080_8080L;
  private static final long BACKSLASHES = ONES * '\\';

  private static final byte[] MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};
  private static final String NUL_ESCAPE = "u0000";

  private long checked;
  private int marked; // how much of a byte order mark was seen
  private int missing; // continuation bytes of the character that has begun
  private int lowest; // value of the next continuation byte
  private int highest;
  private boolean isAscii = true;

  private boolean mayHaveNul;
  private int matched; // how much of NUL_ESCAPE was seen
  private boolean continues; // whether an escape may continue in the next piece

  /** Throws at the first invalid byte. */
  void check(byte[] bytes, int from, int to) {
    if (checked < MARK.length) {
      refuseMark(bytes, from, to);
    }
    checked += to - from;
    boolean hasBackslash = false;
    int i = from;
    while (i < to) {
      if (missing == 0 && i + Long.BYTES <= to) {
        long eight = (long) LONG.get(bytes, i);
        if ((eight & HIGH_BITS) == 0 && !hasZero(eight)) {
          hasBackslash = hasBackslash || hasZero(eight ^ BACKSLASHES);
          i += Long.BYTES;
          continue;
        }
      }
      byte one = bytes[i++];
      hasBackslash |= one == '\\';
      next(one & 0xff);
    }
    if (!mayHaveNul && (hasBackslash || continues)) {
      lookForNul(bytes, from, to);
    }
  }

  /** Whether one of its bytes is zero; exact as long as none is above 0x7f. */
  private static boolean hasZero(long eight) {
    return ((eight - ONES) & ~eight & HIGH_BITS) != 0;
  }

  private void refuseMark(byte[] bytes, int from, int to) {
    for (int i = from; i < to && checked + i - from == marked && marked < MARK.length; i++) {
      marked += bytes[i] == MARK[marked] ? 1 : 0;
    }
    if (marked == MARK.length) {
      throw hasMark();
    }
  }

  private void next(int one) {
    if (missing > 0) {
      if (one < lowest || one > highest) {
        throw malformed();
      }
      missing--;
      lowest = 0x80;
      highest = 0xbf;
    } else if (one < 0x80) {
      // A raw NUL is never valid JSON; UTF-16 read as UTF-8 has many.
      if (one == 0) {
        throw hasMark();
      }
    } else {
      isAscii = false;
      begin(one);
    }
  }

  private void begin(int one) {
    lowest = 0x80;
    highest = 0xbf;
    if (one >= 0xc2 && one <= 0xdf) {
      missing = 1;
    } else if (one >= 0xe0 && one <= 0xef) {
      missing = 2;
      lowest = one == 0xe0 ? 0xa0 : 0x80;
      highest = one == 0xed ? 0x9f : 0xbf;
    } else if (one >= 0xf0 && one <= 0xf4) {
      missing = 3;
      lowest = one == 0xf0 ? 0x90 : 0x80;
      highest = one == 0xf4 ? 0x8f : 0xbf;
    } else {
      throw malformed();
    }
  }

  private void lookForNul(byte[] bytes, int from, int to) {
    for (int i = from; i < to; i++) {
      byte one = bytes[i];
      if (one == NUL_ESCAPE.charAt(matched)) {
        matched++;
      } else {
        matched = one == NUL_ESCAPE.charAt(0) ? 1 : 0;
      }
      if (matched == NUL_ESCAPE.length()) {
        mayHaveNul = true;
        return;
      }
    }
    continues = matched > 0 || (to > from && bytes[to - 1] == '\\');
  }

  /** Must be called after the last piece. */
  void end() {
    if (missing > 0) {
      throw malformed();
    }
  }

  boolean isAscii() {
    return isAscii;
  }

  /** Whether the text may have an escaped NUL. */
  boolean mayHaveNul() {
    return mayHaveNul;
  }

  private static ApiException malformed() {
    return new ApiException(ErrorCode.INVALID_ENCODING, "the body is not valid UTF-8");
  }

  private static ApiException hasMark() {
    return new ApiException(
        ErrorCode.INVALID_ENCODING, "the body must be UTF-8 without a byte order mark");
  }
}
