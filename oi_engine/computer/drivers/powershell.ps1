# The driver for PowerShell 7. The protocol is in driver.py. Cells run in one runspace of their own, which keeps what they
# define. The rest is one call that never returns: PowerShell's own handler of ^C then waits for it in vain, and stops
# nothing but what a request says.
Add-Type -TypeDefinition @'
using System;
using System.IO;
using System.Management.Automation;
using System.Management.Automation.Host;
using System.Management.Automation.Runspaces;
using System.Text;
using System.Text.Json;
using System.Threading;
using Microsoft.Win32.SafeHandles;

public static class OiDriver
{
    static readonly object turn = new object();
    static FileStream reports;
    static PowerShell running;
    static string cell;

    public static void Serve(PSHost host)
    {
        var requests = new StreamReader(Pipe("OI_REQUESTS", FileAccess.Read));
        reports = Pipe("OI_REPORTS", FileAccess.Write);
        foreach (var name in new[] { "OI_REQUESTS", "OI_REPORTS", "OI_TTY" })
            Environment.SetEnvironmentVariable(name, null);
        var runspace = RunspaceFactory.CreateRunspace(host);
        runspace.Open();
        using (var first = PowerShell.Create())
        {
            first.Runspace = runspace;
            first.AddScript("$PSStyle.OutputRendering = 'PlainText'; $ProgressPreference = 'SilentlyContinue'").Invoke();
        }
        Report("ready 1 pwsh " + host.Version);
        string line;
        while ((line = requests.ReadLine()) != null)
        {
            var words = line.Split(new[] { ' ' }, 3);
            if (words[0] == "run") new Thread(() => Run(runspace, words[1], words[2])).Start();
            else Stop(words[1]);
        }
        Environment.Exit(0);
    }

    static FileStream Pipe(string name, FileAccess access)
    {
        var number = int.Parse(Environment.GetEnvironmentVariable(name));
        return new FileStream(new SafeFileHandle((IntPtr)number, true), access, 1);
    }

    static void Report(string line)
    {
        var bytes = Encoding.UTF8.GetBytes(line + "\n");
        lock (reports) { reports.Write(bytes, 0, bytes.Length); reports.Flush(); }
    }

    static void Run(Runspace runspace, string id, string path)
    {
        var status = "ok";
        using (var shell = PowerShell.Create())
        {
            shell.Runspace = runspace;
            // Values and errors are written to the host as they come, in the host's own form.
            shell.AddScript(File.ReadAllText(path), false).AddCommand("Out-Default");
            shell.Commands.Commands[0].MergeMyResults(PipelineResultTypes.Error, PipelineResultTypes.Output);
            lock (turn) { running = shell; cell = id; }
            try
            {
                shell.Invoke();
                if (shell.HadErrors) status = "error";
            }
            catch (PipelineStoppedException) { status = "error interrupted"; }
            catch (RuntimeException error)
            {
                var where = error.ErrorRecord?.InvocationInfo?.PositionMessage;
                var text = error.Message + "\n" + (string.IsNullOrEmpty(where) ? "" : where + "\n");
                Report("text " + id + " traceback " + JsonSerializer.Serialize(text));
                status = "error " + error.GetType().Name;
            }
            lock (turn) { running = null; cell = null; }
        }
        Report("done " + id + " " + status);
    }

    static void Stop(string id)
    {
        lock (turn) { if (running != null && cell == id) running.BeginStop(null, null); }
    }
}
'@
[OiDriver]::Serve($Host)
