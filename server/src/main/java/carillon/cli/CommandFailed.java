package carillon.cli;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Ends the program with its message as one line on stderr. */
public final class CommandFailed extends RuntimeException {

  private static final long serialVersionUID = 1;

  public CommandFailed(String line) {
    super(line);
  }

  /** The reason of a failed file operation, without the path, which the caller names. */
  public static String reason(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> "no such file";
      case AccessDeniedException denied -> "permission denied on " + denied.getFile();
      case FileSystemException failed when failed.getReason() != null ->
          failed.getReason() + " (" + failed.getFile() + ")";
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    };
  }
}
